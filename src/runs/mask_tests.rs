//! Secrets of many kinds, each in text as programs write it.

use super::mask::Mask;

fn mask(values: &[&str]) -> Mask {
    Mask::of(values.iter().map(|value| value.as_bytes().to_vec()))
}

/// Made up, and of the right form: none of them opens anything.
fn tokens() -> Vec<String> {
    let word = |len: usize| "a1B2c3D4e5".chars().cycle().take(len).collect::<String>();
    let upper = |len: usize| "A1B2C3D4E5".chars().cycle().take(len).collect::<String>();
    let mut tokens = Vec::new();
    for begins in ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "npm_", "hf_", "shpat_", "lin_api_"] {
        tokens.push(format!("{begins}{}", word(36)));
    }
    for begins in ["glpat-", "gldt-", "sk-ant-", "sk-proj-", "sk_live_", "rk_live_", "xoxb-", "xoxp-", "xapp-"] {
        tokens.push(format!("{begins}{}", word(24)));
    }
    for begins in ["sk-", "pypi-", "dop_v1_", "AIza", "ya29.", "GOCSPX-", "SG.", "dckr_pat_", "hvs.", "whsec_"] {
        tokens.push(format!("{begins}{}", word(48)));
    }
    tokens.push(format!("AKIA{}", upper(16)));
    tokens.push(format!("ASIA{}", upper(16)));
    tokens.push(format!("AGE-SECRET-KEY-{}", upper(58)));
    tokens.push(format!("eyJ{}.eyJ{}.{}", word(20), word(30), word(43)));
    tokens
}

#[test]
fn tokens_of_thirty_kinds_are_masked_wherever_they_stand() {
    let tokens = tokens();
    assert!(tokens.len() >= 30);
    for token in tokens {
        let rest = &token[token.len() - 12..];
        for text in [
            token.clone(),
            format!("the token is {token}, and more"),
            format!("export X={token}\n"),
            format!("{{\"x\":\"{token}\"}}"),
            format!("https://example.org/?x={token}&y=1"),
            format!("\x1b[32m{token}\x1b[0m"),
            format!(r#"{{"log":"first\n{token}\nlast"}}"#),
            format!(r"first\u001b[32m{token}\u001b[0m"),
            format!(r"tab\u0009{token}"),
            format!("https://example.org/?x=a%20{token}"),
        ] {
            let masked = mask(&[]).text(&text);
            assert!(!masked.contains(rest) && masked.contains("***"), "{text}: {masked}");
        }
    }
}

#[test]
fn what_stands_behind_a_word_for_a_secret_is_masked() {
    for text in [
        "password=hunter2000",
        "password:\thunter2000",
        "password\t=\thunter2000",
        "Password: 'hunter2000'",
        "DB_PASSWORD=hunter2000",
        "\"api_key\": \"hunter2000\"",
        "client_secret = hunter2000",
        "Authorization: Bearer hunter2000",
        "authorization: basic aHVudGVyMjAwMA==hunter2000",
        "postgres://ada:hunter2000@db.example.org/x",
        "git clone https://x-access-token:hunter2000@example.org/a.git",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2000\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2000 and no end",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nhunter2000\n-----END PGP PRIVATE KEY BLOCK-----",
        r#"{"key": "-----BEGIN PRIVATE KEY-----\nhunter2000\n-----END PRIVATE KEY-----"}"#,
        "Proxy-Authorization: Basic hunter2000",
        "Authorization: hunter2000",
        r#"{"headers": {"authorization": "ApiKey hunter2000"}}"#,
        "Set-Cookie: sid=hunter2000; Path=/",
        "password: \"one two hunter2000\"",
        "secret='one hunter2000'",
        r#"{"password": "one hunter2000"}"#,
        r#""{\"dbPassword\": \"one hunter2000\"}""#,
        "accessToken: hunter2000",
        "apiKey := hunter2000",
        "{:password => \"hunter2000\"}",
        "PGPASSWORD=hunter2000 psql",
        "curl --password hunter2000 https://example.org",
        "+ tool --db-password hunter2000",
        "postgres://ada:one@hunter2000@db.example.org/x",
        "amqp://ada:hunter2000@db.example.org:5672/%2f",
        "git clone https://hunter2000hunter2000@example.org/a.git",
        "<password>hunter2000</password>",
        "<server><apiKey> hunter2000 </apiKey></server>",
        "machine example.org login ada password hunter2000",
        "machine example.org\n  login ada\n  password hunter2000\n",
        "+ curl -sS -u ada:hunter2000 https://example.org",
        "curl --user 'ada:hunter2000' https://example.org",
    ] {
        let masked = mask(&[]).text(text);
        assert!(!masked.contains("hunter2000") && masked.contains("***"), "{text}: {masked}");
    }
}

#[test]
fn a_secret_of_letters_alone_is_masked_behind_a_key() {
    for text in [
        "client_secret: aaaabbbb",
        "  password: aaaabbbb\n",
        "- token: 'aaaabbbb' # mine",
        "secret: \"aaaabbbb\"",
        "db.password: aaaabbbb",
        "{user: ada, password: aaaabbbb}",
        r#"{"log": "password: aaaabbbb"}"#,
        "the file\npassword: aaaabbbb\nends",
    ] {
        let masked = mask(&[]).text(text);
        assert!(!masked.contains("aaaabbbb") && masked.contains("***"), "{text}: {masked}");
    }
}

#[test]
fn the_values_of_variables_are_masked_whatever_they_look_like() {
    let masked = mask(&["open sesame", "two\nlines of it", "abc"]).text("say open sesame; abc; lines of it");
    assert_eq!(masked, "say ***; abc; ***");
    // Also where a program writes them in JSON.
    let values = ["ab\"cdef\\g", "käse\u{1f9c0}brot"];
    for value in values {
        let text = serde_json::json!({ "a": value }).to_string();
        assert_eq!(mask(&values).text(&text), r#"{"a":"***"}"#);
    }
    // As encoders of Go and PHP do.
    for text in [r#"{"a":"a\u0026b\u003cc\u003ed/e"}"#, r#"{"a":"a&b<c>d\/e"}"#] {
        assert_eq!(mask(&["a&b<c>d/e"]).text(text), r#"{"a":"***"}"#);
    }
    // In an address, and in a form.
    for text in ["?a=one%20k%C3%A4se%2Fb&c", "?a=one%20k%c3%a4se%2fb&c", "?a=one+k%C3%A4se%2Fb&c"] {
        assert_eq!(mask(&["one käse/b"]).text(text), "?a=***&c");
    }
    assert_eq!(mask(&values).text(r#"["k\u00e4se\ud83e\uddc0brot"]"#), r#"["***"]"#);
}

#[test]
fn an_argument_behind_an_option_for_a_secret_is_masked() {
    let words =
        ["curl", "--db-password", "one hunter2000", "--token", "-x", "--max-tokens", "100", "--password=hunter2000"];
    let masked = mask(&[]).words(&words.map(str::to_owned));
    let told = ["curl", "--db-password", "***", "--token", "-x", "--max-tokens", "100", "--password=***"];
    assert_eq!(masked, told);
    let words = ["curl", "-sS", "-u", "ada:hunter2000", "-x", "proxy:8080"];
    let told = ["curl", "-sS", "-u", "ada:***", "-x", "proxy:8080"];
    assert_eq!(mask(&[]).words(&words.map(str::to_owned)), told);
    // A user may be a secret as well.
    let words = ["curl", "-u", "sk_test_a1B2c3D4e5a1B2c3D4e5:", "-u", "ada lovelace:x"];
    let told = ["curl", "-u", "sk_test_***:***", "-u", "***:***"];
    assert_eq!(mask(&["ada lovelace"]).words(&words.map(str::to_owned)), told);
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "error: expected identifier, found token: semicolon",
        "test auth::token_expires ... ok",
        "the password is wrong",
        "basic tests passed",
        "src/main.rs:10:5: error",
        "http://localhost:8080/path@2x.png",
        "sk-short",
        "assert_eq!(key, 1)",
        "error: unexpected token: 'ident'",
        "--token is needed",
        "Authorization: see the page",
        "Password: required by the server",
        "let password = read_password()?;",
        "      --token <TOKEN>   The token",
        "total tokens: 1234567",
        "max_tokens=4096000",
        "expected one of these, found token: semicolon",
        "  token: end of input",
        "cookie: no",
        "https://example.org:8080/a?b=c@d",
        "token: src/lex/token.rs",
        "secret: see the/way/to/keep/secrets.md",
        "Cookie: whatever the browser sent before",
        "Authorization: required since version 2.0 of the interface",
        "basic responsibilities of a reader",
        "bearer token-authentication-everywhere",
        "sk-something-that-only-begins-like-a-key",
        "pat-matching-over-all-the-kinds-of-nodes",
        "hf_a_name_of_a_function_that_goes_on_and_on",
        "ssh://git@example.org/a.git",
        "https://continuous-integration-robot@example.org/a.git",
        "docker run -u 1000:100000 image",
        "<token>identifier</token>",
        "<input type=password>required</input>",
        "it asks for login and password afterwards",
    ] {
        assert_eq!(mask(&[]).text(text), text);
    }
}

/// What `docs/evidence.md` says is not masked.
#[test]
fn what_cannot_be_masked_is_known() {
    for text in [
        // Encoded, in pieces, without looks of its own, or behind no word.
        "aHVudGVyMjAwMA==",
        "ghp_a1B2c3\nD4e5a1B2c3D4e5a1B2c3D4e5a1",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "correct horse battery staple",
        "password: |\n  hunter2000",
        "postgres://ada:hunt/er2000@db.example.org/x",
    ] {
        assert_eq!(mask(&[]).text(text), text);
    }
}
