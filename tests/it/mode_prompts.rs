//! What prompts begin, kind by kind: people's sentences, other languages, files that were pasted.

use std::fmt;
use std::sync::LazyLock;

use flowrun::catalog::Catalog;
use flowrun::machine::prose;
use flowrun::modes::policy::{Policy, Skills, Why, find_skills};
use flowrun::modes::policy_of;

use crate::support::try_all;

static POLICY: LazyLock<Policy> =
    LazyLock::new(|| policy_of(&Catalog::new(std::sync::Arc::new(flowrun::disk::Os), None)).unwrap().0);

/// A prompt, the skills that it requests, and what is told of others.
struct Case(&'static str, &'static str, &'static str);

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

fn skills(prompt: &str) -> Skills {
    find_skills(&POLICY, prompt, &prose(prompt))
}

/// Checks what prompts begin, and what is told: `how` to begin it, that `$cancel` ends, that it was `denied`.
fn check(prompts: &[Case]) {
    try_all(prompts, |Case(prompt, begins, told)| {
        let skills = skills(prompt);
        let asked: Vec<&str> = skills.asked.iter().map(flowrun::modes::policy::Skill::as_str).collect();
        let of = |named: &flowrun::modes::policy::NamedSkill| match named.why {
            Why::Denied(_) => format!("denied {}", named.skill.as_str()),
            Why::Ending => format!("cancel {}", named.skill.as_str()),
            Why::Behind(_) => format!("behind {}", named.skill.as_str()),
            Why::Mentioned => format!("how {}", named.skill.as_str()),
        };
        let named: Vec<String> = skills.told.iter().map(of).collect();
        assert_eq!((asked.join(" ").as_str(), named.join(", ").as_str()), (*begins, *told), "{prompt:?}");
    });
}

/// Checks that prompts begin nothing, and that nothing is told.
fn check_silent(prompts: &[&str]) {
    for prompt in prompts {
        let skills = skills(prompt);
        assert_eq!((&skills.asked[..], &skills.told[..]), (&[][..], &[][..]), "{prompt}");
    }
}

#[test]
fn a_skill_at_the_beginning_of_a_prompt_or_a_line_begins() {
    check(&[
        Case("$blueprint $team $forge ship this fix", "blueprint team forge", ""),
        Case("$forge", "forge", ""),
        Case("  $forge go", "forge", ""),
        Case("$TEAM go", "team", ""),
        Case("$swarm handle this", "team", ""),
        Case("$rcs:blueprint plan it", "blueprint", ""),
        Case("$team, $forge go", "team", ""),
        Case("$team: build the parser", "team", ""),
        Case("$team! now", "team", ""),
        Case("$team.", "team", ""),
        Case("$team?", "team", ""),
        Case("$team what is left?", "team", ""),
        Case("$team can you fix this?", "team", ""),
        Case("$team - fix the bug", "team", ""),
        Case("$team (all three) fix the bug", "team", ""),
        Case("$team --workers 3 fix the bug", "team", ""),
        Case("$team \"fix the bug\"", "team", ""),
        Case("$team fix the bug where a->b == null && c", "team", ""),
        Case("$team fix foo() in src/main.rs; then Bar::new()", "team", ""),
        Case("**$team** fix it", "team", ""),
        Case("- $team $forge ship this", "team forge", ""),
        Case("* $team ship this", "team", ""),
        Case("1. $team build it\n2. test it", "team", ""),
        Case("12) $rcs:blueprint build this", "blueprint", ""),
        Case("> quoted context\n$blueprint plan it", "blueprint", ""),
        Case("> quoted\n> context\n\n$blueprint plan it", "blueprint", ""),
        Case("The tests fail since Monday.\n$forge fix them", "forge", ""),
        Case("Here is the plan:\n\n- $team builds it\n", "team", ""),
        Case("why does it fail?\n$forge fix it", "forge", ""),
        Case("Do not commit yet\n  $team do it", "team", ""),
        Case("$unknown $forge ship", "forge", ""),
        Case("$blueprint\n$team\ngo", "blueprint team", ""),
        Case("$forge로 해줘", "forge", ""),
        Case("$team 修复这个错误", "team", ""),
        Case("$cancel", "cancel", ""),
        Case("Enough for today.\n$cancel", "cancel", ""),
        Case("$forge:progression write the ladder", "forge-progression", ""),
    ]);
}

#[test]
fn a_skill_directly_after_a_word_of_starting_begins() {
    check(&[
        Case("use $team", "team", ""),
        Case("Use $blueprint then $forge", "blueprint", ""),
        Case("please run $forge now", "forge", ""),
        Case("Please, $team fix it", "team", ""),
        Case("start $forge on issue 42", "forge", ""),
        Case("begin $blueprint", "blueprint", ""),
        Case("ok do $team", "team", ""),
        Case("do $team", "team", ""),
        Case("try $forge for this one", "forge", ""),
        Case("go $team", "team", ""),
        Case("write the tests, then $forge", "forge", ""),
        Case("/prompts:architect, then $team go", "team", ""),
        Case("fix the build with $forge", "forge", ""),
        Case("fix the build via $forge.", "forge", ""),
        Case("use **$team** here", "team", ""),
        Case("The build is broken, use $forge", "forge", ""),
        Case("If the tests fail, run $forge", "forge", ""),
        Case("what is wrong here? use $forge", "forge", ""),
        Case("use $team?", "team", ""),
        Case("Can you use $team for this?", "team", ""),
        Case("could you please run $forge on it?", "forge", ""),
        Case("can we please use $team", "team", ""),
        Case("I want you to use $team", "team", ""),
        Case("(use $team)", "team", ""),
        Case("- use $forge", "forge", ""),
        Case("fix parse() and Foo::bar with $forge", "forge", ""),
        Case("fix the \"cannot find module\" error with $team", "team", ""),
        Case("Do not run $blueprint; use $team execute it", "team", ""),
        Case("don't wait, use $team", "team", ""),
        Case("set $HOME first and use $team", "team", ""),
        Case("please $cancel", "cancel", ""),
        Case("cancel it with $cancel", "cancel", ""),
        Case("Let's go with $team.", "team", ""),
        Case("I fixed it, use $team for the rest", "team", ""),
        Case("Next step: use $team", "team", ""),
        Case("please use\n$team for this", "team", ""),
        Case("then $team", "team", ""),
        Case("After that run $forge", "forge", ""),
        Case("Don't forget to run $forge", "forge", ""),
        Case("do not hesitate to use $team", "team", ""),
        Case("$blueprint -> then $forge", "blueprint", ""),
        Case("When done use $forge", "forge", ""),
        Case("if it fails then $forge", "forge", ""),
        Case("first run $blueprint", "blueprint", ""),
        Case("add a naïve cache with $forge", "forge", ""),
        Case("now please try $blueprint and plan it", "blueprint", ""),
    ]);
}

#[test]
fn a_question_about_a_skill_begins_nothing() {
    check(&[
        Case("what does $team do?", "", ""),
        Case("what does $cancel do?", "", ""),
        Case("why is $blueprint undefined in this Perl file", "", ""),
        Case("how do I use $team?", "", ""),
        Case("How would you run $forge here", "", ""),
        Case("is it safe to run $team?", "", ""),
        Case("does it go with $team?", "", ""),
        Case("should I use $team?", "", ""),
        Case("do you use $team?", "", ""),
        Case("Do I start $team or $forge?", "", ""),
        Case("when should one use $team?", "", ""),
        Case("which is better, to go with $team or with $forge?", "", ""),
        Case("tell me how to use $team", "", ""),
        Case("explain what happens with $forge", "", ""),
        Case("I wonder whether to use $team", "", ""),
        Case("hey, what's up with $team?", "", ""),
        Case("so is this done via $team", "", ""),
        Case("What happens if I use $team", "", ""),
        Case("have you run $forge already?", "", ""),
        Case("Can this be done with $team?", "", ""),
        Case("Hey Claude, should I run $team?", "", ""),
        Case("The tests pass. Does it make sense to use $team?", "", ""),
        Case("The tests pass, should I run $team?", "", ""),
    ]);
}

#[test]
fn words_before_a_skill_that_do_not_start_it_begin_nothing_and_are_told() {
    check(&[
        Case("the cost is $team", "", "how team"),
        Case("Fix the tests. $team do it", "", "how team"),
        Case("tell me about $team", "", "how team"),
        Case("I think $team is great", "", "how team"),
        Case("use the $team skill", "", "how team"),
        Case("it's \"quoted\", so $team", "", "how team"),
        Case("not only that: $team", "", "how team"),
        Case("replace $team with $forge", "", "how team, how forge"),
        Case("compare $team with $forge", "", "how team, how forge"),
        Case("a line that starts with $team", "", "how team"),
        Case("we use $team at work", "", "how team"),
        Case("They run $forge every night", "", "how forge"),
        Case("it failed to start $team", "", "how team"),
        Case("the start $team makes is slow", "", "how team"),
        Case("use 3 $team", "", "how team"),
        Case("type $cancel to end it", "", "how cancel"),
        Case("User: $team fix it", "", "how team"),
        Case("this is about $team, use $forge", "forge", ""),
        Case("if I use $team will it push", "", "how team"),
        Case("when I run $team it crashes", "", "how team"),
        Case("fix $team's output", "", "how team"),
        Case("have $team fix it", "", "how team"),
        Case("$team's output is wrong", "", "how team"),
        // They may be meant.
        Case("diff:\n+ $team", "", "how team"),
        Case("Look at this diff:\n\n  a\n+ $team\n- $forge", "", "how team, how forge"),
        Case("docker run $team", "", "how team"),
        Case("# use $team as it was", "", "how team"),
        Case("npm start $team", "", "how team"),
        Case("<log>\n\n$team run\n\n</log>\nexplain", "", "how team"),
        Case("Explain:\n\"\"\"\n$team run\n\"\"\"", "", "how team"),
    ]);
}

#[test]
fn a_word_of_ending_begins_nothing_and_cancel_is_named() {
    check(&[
        Case("cancel $autopilot", "", "cancel autopilot"),
        Case("stop $team", "", "cancel team"),
        Case("please stop $team now", "", "cancel team"),
        Case("stop using $team", "", "cancel team"),
        Case("cancel the $team", "", "cancel team"),
        Case("turn off $team", "", "cancel team"),
        Case("turn $team off", "", "cancel team"),
        Case("switch off the $team mode", "", "cancel team"),
        Case("please turn off $team and $forge", "", "cancel team, cancel forge"),
        Case("I no longer want to use $team", "", "cancel team"),
        Case("no longer with $team", "", "cancel team"),
        Case("instead of $team do it yourself", "", "cancel team"),
        Case("use $forge instead of $team", "forge", "cancel team"),
        Case("instead of $team use $forge", "forge", "cancel team"),
        Case("cancel $team then use $forge", "forge", "cancel team"),
        Case("stop $team and start $forge", "forge", "cancel team"),
        Case("end $forge", "", "cancel forge"),
        Case("exit $team mode", "", "cancel team"),
        Case("disable $ultrawork please", "", "cancel ultrawork"),
        Case("I'm done with $team", "", "cancel team"),
        Case("get rid of $team", "", "cancel team"),
        Case("cancel $team $forge", "", "cancel team, cancel forge"),
        Case("finish the refactoring with $team", "team", ""),
        Case("close issue 42 with $forge", "forge", ""),
        Case("fix the stop button with $forge", "forge", ""),
        Case("how do I stop $team?", "", "cancel team"),
        Case("are you done with $team?", "", "cancel team"),
        Case("rather than going with $team, use $forge", "forge", "cancel team"),
        Case("it should stop using $team and continue with $forge", "forge", "cancel team"),
    ]);
}

#[test]
fn a_word_of_ending_behind_a_skill_ends_it_where_it_stands_alone() {
    check(&[
        Case("$autopilot off", "", "cancel autopilot"),
        Case("$autopilot stop", "", "cancel autopilot"),
        Case("$autopilot cancel", "", "cancel autopilot"),
        Case("$autopilot stop!", "", "cancel autopilot"),
        Case("$autopilot: off", "", "cancel autopilot"),
        Case("$autopilot, stop", "", "cancel autopilot"),
        Case("$autopilot please stop now", "", "cancel autopilot"),
        Case("$autopilot mode off", "", "cancel autopilot"),
        Case("$autopilot turn off", "", "cancel autopilot"),
        Case("$autopilot should stop. Then go on by hand", "", "cancel autopilot"),
        Case("$team $forge off", "", "cancel team, cancel forge"),
        Case("$autopilot off\n$forge fix it", "forge", "cancel autopilot"),
        Case("$cancel, stop", "cancel", ""),
        Case("$cancel everything now", "cancel", ""),
        // With more words it is the work.
        Case("$autopilot stop the flaky tests from failing", "autopilot", ""),
        Case("$team off-by-one errors in the parser", "team", ""),
        Case("$forge cancel button does not close the dialog", "forge", ""),
        Case("$team end to end tests", "team", ""),
        Case("$team exit codes are wrong", "team", ""),
        Case("$forge finish it", "forge", ""),
        Case("$forge stop it from leaking", "forge", ""),
        Case("$team, stop the leak", "team", ""),
    ]);
}

#[test]
fn words_behind_a_skill_that_take_it_back_or_speak_of_it_begin_nothing() {
    check(&[
        Case("use $autopilot, no wait, do not", "", "behind autopilot"),
        Case("$team, never mind", "", "behind team"),
        Case("use $team, no wait, use $forge", "forge", "behind team"),
        Case("$autopilot is broken", "", "behind autopilot"),
        Case("$autopilot crashed, investigate", "", "behind autopilot"),
        Case("$autopilot failed to start", "", "behind autopilot"),
        Case("$autopilot mode isn’t working", "", "behind autopilot"),
        Case("$autopilot has crashed again", "", "behind autopilot"),
        Case("$autopilot does not begin", "", "behind autopilot"),
        Case("$autopilot keeps looping", "", "behind autopilot"),
        Case("$autopilot was great. Now use $forge", "forge", "behind autopilot"),
        // It is told how, or asked.
        Case("$team, don't touch the tests", "team", ""),
        Case("use $autopilot, do not stop until it is done", "autopilot", ""),
        Case("use $team, no tests needed", "team", ""),
        Case("use $forge, wait for CI", "forge", ""),
        Case("$team is there a leak in the parser", "team", ""),
        Case("$team is src/parser.rs right?", "team", ""),
        Case("$team has to fix the parser", "team", ""),
        Case("$forge failed tests in CI", "forge", ""),
        Case("$forge broken build", "forge", ""),
        Case("- $team builds it\n- $forge does the rest", "team", ""),
        Case("$team never push to main", "team", ""),
    ]);
}

#[test]
fn a_denied_skill_begins_nothing() {
    check(&[
        Case("don't use $team here", "", "denied team"),
        Case("without $autopilot please", "", "denied autopilot"),
        Case("never $team", "", "denied team"),
        Case("please do not, under any circumstances, use $team", "", "denied team"),
        Case("do not, please, run $forge", "", "denied forge"),
        Case("you must not run $team", "", "denied team"),
        Case("The build doesn't work, please fix it with $forge", "", "denied forge"),
        Case("don’t use $team", "", "denied team"),
    ]);
}

#[test]
fn a_skill_that_is_glued_to_code_begins_nothing() {
    check_silent(&[
        "export $team",
        "s/$team/x/",
        "$team.name",
        "x=$team",
        "const x = $team;",
        "$team = 5",
        "$team->run()",
        "$team?->name",
        "$team;",
        "$team[0]",
        "$team{name}",
        "$team(1)",
        "($team) do it",
        "${team}",
        "foo($team, 1)",
        "$team/x",
        "/$team",
        "$team$forge",
        "\\$team",
        "$team_x",
        "$team-name",
        "US$team budget",
        "$team | Format-Table",
        "$team += 1",
        "$team::create",
        "$team || die",
        "$team ?? []",
        "$team -join ','",
        "$team ?: 1",
        "$team instanceof Team",
        "$team: command not found",
        "$team: Permission denied",
        "$team: 12px;",
        "$team =~ s/a/b/;",
        "run=$team",
        "./run $team",
        "--with $team",
        "make x && run $team",
        "return $team;",
        "print $team, \"\\n\";",
        "foreach ($teams as $team) {",
        "function () use ($team) {",
        "Start-Process $team",
        "Write-Host $team",
        "| $team | several agents |",
        "# $team",
        "<b>$team</b>",
        "$team\n    ->where('x')\n    ->get();",
        "E = $team$",
        "{$team}",
        "@$team",
        "!$team",
        "&$team",
    ]);
}

#[test]
fn what_is_quoted_begins_nothing() {
    check_silent(&[
        "`$forge` is a skill name, use it?",
        "```\n$autopilot\n```\nwhat does this do?",
        "~~~\n$autopilot\n~~~",
        "```sh\n$team",
        "    $team run\n\nexplain the snippet",
        "> $team from the log\nexplain it",
        "> use $team",
        "\"$team\" should stay quoted",
        "'$team' too",
        "“$team” too",
        "„$team“ auch",
        "»$team« auch",
        "« $team » aussi",
        "「$team」とは",
        "He wrote \"use $team\" yesterday",
        "He wrote \"first this\n$team then that\" yesterday",
        "He wrote “first this\n$team then that” yesterday",
        "<!-- $team -->",
        "| skill | what |\n|---|---|\n| $team | several agents |\n| use $forge | one |",
        "skill | what\n--- | ---\n$team | several agents",
    ]);
}

#[test]
fn in_other_languages_a_skill_begins_at_the_beginning_only() {
    check(&[
        Case("Bitte nutze $team", "", "how team"),
        Case("Wozu dient $team?", "", "how team"),
        Case("Warum geht das nicht via $team?", "", "how team"),
        Case("Behebe den Fehler mit $forge", "", "how forge"),
        Case("Beende $team", "", "how team"),
        Case("$team behebe den Fehler", "team", ""),
        Case("Utilise $team pour corriger", "", "how team"),
        Case("ne lance pas $team", "", "how team"),
        Case("corrige le bug via $team", "", "how team"),
        Case("Que fait $team ?", "", "how team"),
        Case("$team corrige le bug", "team", ""),
        Case("no use $team", "", "how team"),
        Case("¿Qué hace $team?", "", "how team"),
        Case("por favor no use $team", "", "how team"),
        Case("Ejecuta $forge", "", "how forge"),
        Case("não use $team", "", "how team"),
        Case("qual é o estado do $team?", "", "how team"),
        Case("o custo do $team", "", "how team"),
        Case("execute $team agora", "", "how team"),
        Case("Используй $team", "", "how team"),
        Case("не запускай $team", "", "how team"),
        Case("останови $team", "", "how team"),
        Case("$team исправь ошибку", "team", ""),
        Case("$teamを使って直して", "team", ""),
        Case("バグを$teamで直して", "", "how team"),
        Case("これを $forge で直して", "", "how forge"),
        Case("请用$team修复", "", "how team"),
        Case("不要使用 $team", "", "how team"),
        Case("停止，$team", "", "how team"),
        Case("Lütfen $team kullan", "", "how team"),
        Case("bunu $team ile yap", "", "how team"),
        Case("$team ile yap", "team", ""),
        Case("$team'i kullan", "", "how team"),
        Case("استخدم $team", "", "how team"),
        Case("لا تستخدم $team", "", "how team"),
        Case("이것을 $team 으로 해줘", "", "how team"),
        Case("użyj $team", "", "how team"),
        Case("stan do $team", "", "how team"),
        Case("gebruik $team niet", "", "how team"),
    ]);
}

/// Files that hold the word, as people paste them without a fence.
const FILES: &[&str] = &[
    "#!/usr/bin/env bash\nset -euo pipefail\n\nteam=\"$1\"\n\n$team start\nrun $team\n",
    "if [ -n \"$team\" ]; then\n  $team --start\nfi\nfor x in 1 2; do\n  use $team\ndone\n",
    "team=$1\nforge=$2\n$team start && run $forge\nexport team\necho $team\n",
    "export team=blue\n\nrun_it() {\n  local forge=$1\n  $forge run \"$team\"\n}\n\nrun_it $team\n",
    "use strict;\nmy $team = shift;\nforeach my $forge (@$team) {\n    print $forge, \"\\n\";\n    $team->{name} = 1;\n}\n\
     die $team if $team eq 'x';\n",
    "sub run {\n    my ($self, $team) = @_;\n    $team =~ s/a/b/;\n    return $team;\n}\n1;\n",
    "<?php\n\n/**\n * @param Team $team The team\n * $team is built first\n */\nfunction build(Team $team, $forge) {\n    \
     $team->run();\n    return $forge;\n}\n\n$team = new Team();\n\n$team\n    ->with($forge)\n    ->run();\n",
    "<?php\nuse App\\Team;\n$run = function () use ($team) {\n    try {\n        $team->go();\n    } catch (E $e) {\n    }\n};\n\
     ?>\n<p>$team</p>",
    "param(\n    [string] $team,\n    $forge\n)\nWrite-Host $team\n$team | ForEach-Object { $_ }\n\
     if ($team -eq 'x') { Stop-Process $forge }\n",
    "function Get-Team {\n  begin { $team = @() }\n  process {\n    $team += $_\n  }\n  end {\n    $team\n  }\n}\n",
    "diff --git a/run.sh b/run.sh\nindex 1..2 100644\n--- a/run.sh\n+++ b/run.sh\n@@ -1,3 +1,3 @@\n set -e\n- $team start\n\
     + $team begin\n- use $team\n+use $forge\n",
    "@@ -1,2 +1,2 @@\n- $team run\n+ $forge run\n",
    "const $team = document.querySelector('#team');\n$team.addEventListener('click', () => {\n  start($team);\n});\n",
    "$team: 12px;\n.a {\n  width: $team;\n  @include run($team);\n}\n",
    "FROM alpine\nARG team\nRUN $team start\nCMD [\"$team\"]\n",
    "$ export team=x\n$ docker run $team\n$ $team start\n",
    "jobs:\n  build:\n    steps:\n      - run: $team deploy\n        with:\n          team: $team\n",
    "class Team\n  def run\n    $team.each do |x|\n      puts $team\n    end\n  end\nend\n",
    "proc run {team} {\n    puts $team\n    return $team\n}\nrun $team\n",
    "team := Team{}\nif err != nil {\n\tlog.Fatal($team)\n}\n$team run\n",
    "SELECT * FROM t WHERE a = $team;\nUPDATE t SET a = 1;\n",
];

#[test]
fn a_file_that_is_pasted_begins_nothing() {
    for file in FILES {
        for prompt in [(*file).to_owned(), format!("Explain this file:\n{file}"), format!("What is wrong?\n\n{file}")] {
            assert_eq!(skills(&prompt).asked, [], "{prompt}");
        }
        for prompt in [format!("$forge fix this file:\n\n{file}"), format!("Please use $forge on this:\n{file}")] {
            let asked: Vec<_> = skills(&prompt).asked.iter().map(|skill| skill.as_str().to_owned()).collect();
            assert_eq!(asked, ["forge"], "{prompt}");
        }
    }
}

#[test]
fn a_request_below_a_paste_begins() {
    check(&[
        Case("let x = 1;\nlet y = x;\n\n$forge fix it", "forge", ""),
        Case("error: expected `;`\n  --> src/main.rs:1:2\n\n$forge fix it", "forge", ""),
        Case("Here is the diff:\n+ a\n\n$team review it", "team", ""),
        Case("diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n\n$team review this", "team", ""),
        Case("let x = 1;\nlet y = x;\n\nplease fix it with $forge", "forge", ""),
        Case("<?php\necho 1;\n?>\n\n$forge fix it", "forge", ""),
        Case("<log>\na = 1;\n</log>\n\n$forge fix it", "forge", ""),
        // Nothing shows where a whole file ends.
        Case("#!/bin/sh\nset -e\n\n$forge fix it", "", "how forge"),
    ]);
}

#[test]
fn the_words_of_a_prompt_are_read_in_time_proportional_to_it() {
    for piece in
        ["$team ", "use $team, ", "\"$team ", "„$team ", "x($y ", "$team =\n", "<b>\n", "do not $x_ ", "a=$team ", "'"]
    {
        let prompt = piece.repeat((1 << 19) / piece.len());
        // A minute is generous; what takes quadratic time takes hours.
        let begun = std::time::Instant::now();
        skills(&prompt);
        assert!(begun.elapsed().as_secs() < 60, "{piece:?}");
    }
}
