//! Secrets of many kinds, each in text as programs write it.

use super::mask::{Mask, steps};

fn mask(values: &[&str]) -> Mask {
    Mask::of(values.iter().map(|value| value.as_bytes().to_vec()))
}

/// Checks that `secret` is masked in `text`, also in a string of JSON that stands in another one.
fn is_masked_in_strings(text: &str, secret: &str, mask: &Mask) {
    let mut text = text.to_owned();
    for depth in 0..3 {
        let masked = mask.text(&text);
        assert!(!masked.contains(secret) && masked.contains("***"), "{depth}: {text}: {masked}");
        text = serde_json::json!({ "log": text }).to_string();
    }
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
    for begins in ["gsk_", "xai-", "pplx-", "r8_", "ATBB", "bkua_", "CCIPAT_", "glsa_", "glc_", "sntrys_", "NRAK-"] {
        tokens.push(format!("{begins}{}", word(48)));
    }
    for begins in ["sq0atp-", "figd_", "PMAK-", "ntn_", "pul-", "glptt-", "sbp_", "dp.pt.", "pscale_tkn_"] {
        tokens.push(format!("{begins}{}", word(43)));
    }
    for begins in ["ATATT3", "tskey-auth-", "tskey-api-", "pscale_pw_", "a1B2c3D4e5a1B2.atlasv1."] {
        tokens.push(format!("{begins}{}", word(60)));
    }
    for begins in
        ["glft-", "glimt-", "glsoat-", "glcbt-", "glagent-", "GR1348941", "rk_test_", "xoxe-", "hvb.", "dp.st."]
    {
        tokens.push(format!("{begins}{}", word(40)));
    }
    for begins in
        ["sntryu_", "doo_v1_", "dor_v1_", "ATCTT3", "shpss_", "shpca_", "pscale_oauth_", "ABSK", "1//0", "nfp_"]
    {
        tokens.push(format!("{begins}{}", word(60)));
    }
    for begins in ["dapi", "sb_secret_", "sig=", "X-Amz-Signature=", "webhook.office.com/webhookb2/"] {
        tokens.push(format!("{begins}{}", word(64)));
    }
    tokens.push(format!("discord.com/api/webhooks/123456789012345678/{}", word(68)));
    tokens.push(format!("ABIA{}", upper(16)));
    tokens.push(format!("hooks.slack.com/services/T{}/B{}/{}", upper(8), upper(8), word(24)));
    tokens.push(format!("AKIA{}", upper(16)));
    tokens.push(format!("ASIA{}", upper(16)));
    tokens.push(format!("AGE-SECRET-KEY-{}", upper(58)));
    tokens.push(format!("eyJ{}.eyJ{}.{}", word(20), word(30), word(43)));
    tokens
}

#[test]
fn tokens_of_eighty_kinds_are_masked_wherever_they_stand() {
    let tokens = tokens();
    assert!(tokens.len() >= 80);
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
            is_masked_in_strings(&text, rest, &mask(&[]));
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
        "Endpoint=sb://a.example/;SharedAccessKey=hunter2000",
        "client-key-data: hunter2000",
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
        "curl --user=ada:hunter2000 https://example.org",
        "curl -uada:hunter2000 https://example.org",
        "curl -sSfu ada:hunter2000 https://example.org",
        "MYSQL_PWD=hunter2000 mysql",
        "Server=db;Uid=ada;Pwd=hunter2000;",
        "AccountName=a;AccountKey=hunter2000==;EndpointSuffix=b",
        "//npm.example.org/:_auth=hunter2000",
        "_auth = \"hunter2000\"",
        "npm_config__auth=hunter2000",
        "https://hunter2000%2Bhunter2000@example.org/a.git",
    ] {
        is_masked_in_strings(text, "hunter2000", &mask(&[]));
    }
}

#[test]
fn the_whole_value_of_a_header_is_masked() {
    for text in [
        "Authorization: token hunter2000",
        "Authorization: Token hunter2000",
        "Authorization=token hunter2000",
        "Authorization: Key hunter2000",
        "?authorization=hunter2000",
        r#""Authorization": "token hunter2000""#,
        r#"Authorization: Hawk id="dh37", ts="1", mac="hunter2000", hash="hunter2000=""#,
        r#"Authorization: Digest username="admin", realm="a b", response="hunter2000""#,
        r#"authorization: AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=hunter2000"#,
        r#"{"authorization": "Digest username=\"admin\", response=\"hunter2000\""}"#,
        r#"{"log": "Authorization: Digest username=\"admin\", response=\"hunter2000\"\nAccept: x"}"#,
        r#"curl -H 'Authorization: Digest username="admin", response="hunter2000"' x"#,
        r#"curl -H "Authorization: Digest username=\"admin\", response=\"hunter2000\"" x"#,
        "Cookie: a=b; sid=hunter2000",
        "Set-Cookie: a=b; sid=hunter2000; Path=/",
        "Cookie: a=\"b\"; sid=hunter2000",
        "Cookie: a=it's; sid=hunter2000",
        "curl -H \"Cookie: a='b' ; sid='hunter2000'\" x",
        "\x1b[1mset-cookie\x1b[0m: a=b; sid=hunter2000",
        r#""set-cookie": ["sid=hunter2000"]"#,
        r#""set-cookie": ["a=b; Path=/", "sid=hunter2000"]"#,
        "'set-cookie': [ 'sid=hunter2000; Path=/' ]",
        "'set-cookie': [\n  'a=b; Path=/',\n  'sid=hunter2000; Path=/'\n]",
        "map[Accept:[*/*] Cookie:[a=b; sid=hunter2000]]",
        "{\"Cookie\" => \"a=b; sid=hunter2000\"}",
    ] {
        is_masked_in_strings(text, "hunter2000", &mask(&[]));
    }
    // What is around the value stays.
    for (text, told) in [
        (r#"curl -H 'Cookie: a=b; c="d e"' https://a"#, "curl -H 'Cookie: ***' https://a"),
        (r#"{"cookie": "a=b; sid=\"x y\"", "host": "a"}"#, r#"{"cookie": "***", "host": "a"}"#),
        (r#"{"log": "cookie: a=b; sid=x\nhost: a", "b": 1}"#, r#"{"log": "cookie: ***\nhost: a", "b": 1}"#),
        ("> cookie: a=b; sid=x\r\n> host: a", "> cookie: ***\r\n> host: a"),
    ] {
        assert_eq!(mask(&[]).text(text), told);
    }
}

#[test]
fn a_value_with_quotes_is_masked_to_its_end() {
    for text in [
        r#"{"password":"a\"hunter2000"}"#,
        r#"{"password":"correct9horse \"hunter2000 rest"}"#,
        r#"password="it is \"hunter2000""#,
        r#"{"log":"{\"password\":\"a\\\"hunter2000 b\"}"}"#,
        r#""{\"a\":\"{\\\"password\\\":\\\"one hunter2000\\\"}\"}""#,
        "password=$'hunter2000'",
        r"password=$'a\'hunter2000'",
        "password='it''s hunter2000'",
        r"password='it'\''s hunter2000'",
        "password='''a hunter2000'''",
        r#"a,"{""password"": ""one hunter2000""}",b"#,
        r"password\=hunter2000",
    ] {
        is_masked_in_strings(text, "hunter2000", &mask(&[]));
    }
    // What is behind the value stays.
    for (text, told) in [
        (r#"password="ends so \\" and more"#, r#"password="***" and more"#),
        (
            r#"{"log":"{\"password\":\"a\\\"hunter2000\",\"user\":\"ada\"}","b":1}"#,
            r#"{"log":"{\"password\":\"***\",\"user\":\"ada\"}","b":1}"#,
        ),
    ] {
        assert_eq!(mask(&[]).text(text), told);
    }
}

#[test]
fn secrets_in_lists_and_elements_and_behind_colours_are_masked() {
    for text in [
        r#"{"tokens":["hunter2000","x"]}"#,
        r#"{"tokens":["x", "hunter2000"]}"#,
        "{\"tokens\": [\n  \"x\",\n  \"hunter2000\"\n]}",
        "passwords: [hunter2000, hunter2000b]",
        "passwords: [x, 'a hunter2000']",
        "<Password type=\"x\">hunter2000</Password>",
        "<password>one hunter2000</password>",
        "\x1b[34;1m\"password\"\x1b[0m:\x1b[0m \x1b[0;32m\"hunter2000\"\x1b[0m",
        "\x1b[0m\x1b[34;1m\"password\"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m\"a \\\"hunter2000\"\x1b[0m",
        "\x1b[36mpassword\x1b[0m: hunter2000",
        "\x1b[36mpassword\x1b[0m=\x1b[32mhunter2000\x1b[0m",
        r"\u001b[36mpassword\u001b[0m: hunter2000",
    ] {
        is_masked_in_strings(text, "hunter2000", &mask(&[]));
    }
    let text = r#"{"tokens":["hunter2000","x"],"users":["ada lovelace"]}"#;
    assert_eq!(mask(&[]).text(text), r#"{"tokens":["***","x"],"users":["ada lovelace"]}"#);
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
        is_masked_in_strings(text, "aaaabbbb", &mask(&[]));
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
    // Some programs leave some of it as it is.
    let value = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    for text in [
        "?a=wJalrXUtnFEMI/K7MDENG%2BbPxRfiCYEXAMPLEKEY&c",
        "?a=wJalrXUtnFEMI%2FK7MDENG+bPxRfiCYEXAMPLEKEY&c",
        "?a=wJalrXUtnFEMI%2fK7MDENG%2BbPxRfiCYEXAMPLEKEY&c",
    ] {
        assert_eq!(mask(&[value]).text(text), "?a=***&c");
    }
    // One that goes on in another, and one in a name.
    assert_eq!(mask(&["abcdefgh", "efghijkl"]).text("abcdefghijkl and abcdefgh_password=x"), "*** and ***_password=x");
    assert_eq!(mask(&["abcdefgh"]).text("password_abcdefgh=hunter2000"), "password_***=***");
    assert_eq!(mask(&["abcdefgh"]).text("password=hunter abcdefgh"), "password=*** ***");
    assert_eq!(mask(&["hunter abcdefgh"]).text("password=hunter abcdefgh"), "password=***");
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
    let words = ["curl", "-uada:hunter2000", "--user=ada:hunter2000", "-sLu", "ada:hunter2000", "-Hu:1"];
    let told = ["curl", "-uada:***", "--user=ada:***", "-sLu", "ada:***", "-Hu:1"];
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
        "Authorization: required",
        "Authorization: not required",
        "Authorization: token missing",
        "authorization=required",
        "\"authorization\": \"optional\"",
        "the cookie is set",
        "the cookie: it is set by the server",
        "error in Authorization: see RFC7235",
        "PWD=/home/ada/a1b2c3",
        "OLDPWD=/home/ada/a1b2c3",
        r"PWD=C:\Users\ada2000",
        "pwd: ~/a1b2c3",
        "require_auth=always1",
        "http_auth: required2",
        "r8_compiler/output/of/version-2.1.0/classes.dex",
        "pul-requests-of-all-the-people-who-work-on-it",
        "tokens: [Ident, Semicolon, CloseBrace]",
        "\"tokens\": [1234567, 7654321]",
        "passwords: [a, b]",
        "passwords: []",
        "login <user> <password file> [options...]",
        "https://example.org/a.atlasv1.short",
        "https://hooks.slack.com/services/",
        "figd_ ntn_ pul- sbp_ xai- gsk_ glc_",
        "password='' user='ada lovelace'",
        r#"{"password":"","user":"ada lovelace"}"#,
    ] {
        assert_eq!(mask(&[]).text(text), text);
        let in_string = serde_json::json!({ "log": serde_json::json!({ "log": text }).to_string() }).to_string();
        assert_eq!(mask(&[]).text(&in_string), in_string);
    }
}

/// Texts of which each may begin something, again and again.
const REPEATED: &[&str] = &[
    "a",
    "1",
    "1;",
    " ",
    "'",
    "\"",
    "\\",
    "key:",
    "{a:1,b:2}",
    "mod1::mod2::",
    "a.b:c;",
    "k1:v1,k2:v2",
    "/usr/lib/x1:",
    "aa:",
    "sk-",
    "eyJ",
    "r8_",
    "a:b@",
    "::@@",
    "://",
    "://a:",
    "://a:b@",
    "-u a:b ",
    "-u a:bbbbbb ",
    "curl -u a:b ",
    "curl -ssssu a:b ",
    "curl --user=a:bbbbbb ",
    "%41",
    "+",
    "\x1b[",
    "\x1b[1m",
    "\\u001b[1",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY",
    "bearer ",
    "bearer a/",
    "cookie:",
    "cookie: ",
    "cookie: a ",
    "cookie:'",
    "cookie:\"a=\"",
    "cookie: a=\"",
    "cookie:[",
    "cookie:['a',",
    "authorization=",
    "authorization: a b c ",
    "\"authorization: a",
    "password",
    "password:",
    "password: ",
    "password ",
    "--password ",
    "password-",
    "--password-",
    "password:a.",
    "password:a()",
    "password='",
    "password:'a\\'",
    "token=1",
    "token:[",
    "token:[a,",
    "token:['token:[',",
    "token:[\n",
    "token: a/b.c",
    "password\x1b[1m",
    "password\\\"",
    "<token",
    "<token>",
    "<token> ",
    "<token a=",
    "<token>a",
    "<a:token b='c'>x",
    "machine a login b password ",
    "login login password ",
    "hooks.slack.com/services/",
    ".atlasv1.",
];

/// Each byte is looked at a number of times that does not grow with the text: what is counted is the bytes and the
/// comparisons with words.
#[test]
fn what_is_looked_at_grows_as_the_text_does() {
    for part in REPEATED {
        let mut steps_of = [0; 2];
        for (steps_of, bytes) in steps_of.iter_mut().zip([1 << 10, 4 << 10]) {
            let text = part.repeat(bytes / part.len());
            steps::take();
            for end in ["", "()", ">@", "=x\""] {
                mask(&["password:", "open sesame"]).text(&format!("{text}{end}"));
            }
            mask(&[]).words(&[format!("--{text}"), "x".to_owned()]);
            *steps_of = steps::take();
        }
        let [few, many] = steps_of;
        assert!(many < 8 * few, "{part}: {few} steps, and {many} for a text four times as long");
        assert!(many < 4 * 200 * (4 << 10), "{part}: {many} steps");
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
