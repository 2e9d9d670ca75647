"""Which settings files Claude Code puts out of effect, and whether flow says the same."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "drive"))
from formats import Step  # noqa: E402
from model import Model  # noqa: E402

KEY = "sk-ant-scripted-model-of-the-drive"
COMMAND = {"type": "command", "command": "true"}

# Values that Claude Code does not take, by key.
WRONG = {
    "$schema": [1], "agent": [1], "allowManagedHooksOnly": ["x"], "allowedHttpHookUrls": ["x"],
    "alwaysThinkingEnabled": ["x", None], "apiKeyHelper": [1], "attribution": ["x", None, {"commit": 1}, {"pr": 1}],
    "autoCompactEnabled": ["x"], "autoMemoryDirectory": [1], "autoMemoryEnabled": ["x"], "autoUpdatesChannel": [1],
    "availableModels": ["x"], "awaySummaryEnabled": ["x"], "awsAuthRefresh": [1], "awsCredentialExport": [1],
    "blockedMarketplaces": ["x"], "channelsEnabled": ["x"], "claudeMdExcludes": ["x"],
    "cleanupPeriodDays": ["x", -1, 0, 1.5], "companyAnnouncements": ["x", [1]], "disableAllHooks": ["false", 1, None],
    "disableSkillShellExecution": ["x"], "enableAllProjectMcpServers": ["x"],
    "enabledPlugins": [["x"], None, {"a@b": "yes"}, {"a@b": {}}, {"a@b": None}], "env": ["x", [], None],
    "fastMode": ["x"], "fileSuggestion": ["x"], "httpHookAllowedEnvVars": ["x"], "includeCoAuthoredBy": ["yes", 1],
    "includeGitInstructions": ["x"], "language": [1, None], "minimumVersion": [1], "model": [1, None, [], {}],
    "modelOverrides": ["x"], "otelHeadersHelper": [1], "outputStyle": [1, None],
    "permissions": [
        "x", [], None, {"allow": "Bash"}, {"allow": {}}, {"allow": None}, {"deny": "x"}, {"ask": "x"},
        {"defaultMode": 1}, {"defaultMode": None}, {"additionalDirectories": "x"}, {"additionalDirectories": [1]},
        {"disableBypassPermissionsMode": 1},
    ],
    "plansDirectory": [1], "pluginConfigs": ["x"], "prefersReducedMotion": ["x"], "respectGitignore": ["x"],
    "sandbox": ["x", None, {"enabled": "x"}, {"network": "x"}], "showThinkingSummaries": ["x"],
    "showTurnDuration": ["x"], "skillOverrides": ["x"], "skipDangerousModePermissionPrompt": ["x"],
    "skipWebFetchPreflight": ["x"], "spinnerTipsEnabled": ["x"], "spinnerVerbs": ["x"],
    "statusLine": ["x", None, {}, {"command": "x"}, {"type": "command", "command": 1}, {"type": "x", "command": "x"}],
    "strictKnownMarketplaces": ["x"], "syntaxHighlightingDisabled": ["x"], "terminalTitleFromRename": ["x"],
    "useAutoModeDuringPlan": ["x"], "verbose": ["x"], "voice": ["x"], "worktree": ["x"],
}

# Values that it takes, or of which it skips only what is wrong.
RIGHT = {
    "permissions": [{}, {"allow": [1]}, {"allow": ["Bash(", "bash(ls)"]}, {"deny": [1]}, {"foo": 1}],
    "env": [{}, {"A": 1}, {"A": None}, {"A": {}}], "enabledPlugins": [{"a@b": True}, {"a@b": ["1"]}, {"a": True}],
    "sandbox": [{"foo": 1}], "foo": [{"bar": 1}], "cleanupPeriodDays": [30],
}

# Entries of an event. A wrong one matters only where handlers may forbid something.
WRONG_ENTRIES = [
    {}, 1, None, "x", COMMAND, {"matcher": "x"}, {"hooks": {}}, {"hooks": None}, {"hooks": "x"},
    *({"matcher": matcher, "hooks": [COMMAND]} for matcher in ({"type": "always"}, 1, None, ["Bash"])),
    *({"hooks": [handler]} for handler in (
        "x", None, {}, {"command": "true"}, {"type": "foo", "command": "true"}, {"type": "command"},
        {"type": "command", "command": 1}, {"type": "prompt"}, {"type": "agent"}, {"type": "http"}, {"type": "mcp_tool"},
    )),
    *({"hooks": [{**COMMAND, key: value}]} for key, value in (
        ("timeout", "3"), ("timeout", 0), ("timeout", -1), ("timeout", None), ("async", "yes"), ("once", "yes"),
        ("statusMessage", 1), ("shell", 1), ("if", 1), ("async", None), ("asyncRewake", 1), ("args", "x"),
    )),
]
RIGHT_ENTRIES = [
    {"hooks": []}, {"x": 1, "hooks": [COMMAND]}, {"hooks": [{**COMMAND, "timeout": 1.5, "foo": 1, "async": True}]},
    {"hooks": [{"type": "http", "url": "http://localhost:1/"}, {"type": "prompt", "prompt": "x"}]},
]


def cases(good):
    """Name, settings, and whether Claude Code ignores all of them."""
    begin = {"SessionStart": [good]}
    yield "the control", {"hooks": begin}, False
    for values, is_wrong in ((WRONG, True), (RIGHT, False)):
        for key, several in values.items():
            for value in several:
                yield f"{key}={json.dumps(value)}", {"hooks": begin, key: value}, is_wrong
    for event, is_guard in (("PreToolUse", True), ("PermissionRequest", True), ("Stop", False), ("Notification", False)):
        for entry in WRONG_ENTRIES:
            yield f"{event}: {json.dumps(entry)}", {"hooks": {**begin, event: [entry]}}, is_guard
        for entry in RIGHT_ENTRIES:
            yield f"{event}: {json.dumps(entry)}", {"hooks": {**begin, event: [entry]}}, False
        for value in ("x", {}, 3, None):
            is_wrong = is_guard and value is not None
            yield f"{event}={json.dumps(value)}", {"hooks": {**begin, event: value}}, is_wrong
    for name, value in (("hooks null", None), ("hooks array", [good]), ("hooks string", "x")):
        yield name, {"hooks": value}, True


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        home, project, marker = work / "home", work / "project", work / "ran"
        config = home / ".claude"
        config.mkdir(parents=True)
        project.mkdir()
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(project): trusted}}
        state["customApiKeyResponses"] = {"approved": [KEY[-20:]], "rejected": []}
        (config / ".claude.json").write_text(json.dumps(state))
        model = Model(lambda request: Step("Done."))
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "CLAUDE_CONFIG_DIR": str(config)}
        env |= {"ANTHROPIC_BASE_URL": model.address("claude"), "ANTHROPIC_API_KEY": KEY, "IS_SANDBOX": "1"}
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}
        wrong = 0
        every = list(cases({"hooks": [{"type": "command", "command": f"touch {marker}"}]}))
        for name, settings, is_ignored in every:
            (config / "settings.json").write_text(json.dumps(settings))
            marker.unlink(missing_ok=True)
            claude = [os.environ["CLAUDE_BIN"], "-p", "x"]
            subprocess.run(claude, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
            told = [os.environ["FLOW_BIN"], "hooks", "status", "--host", "claude-code", "--scope", "user", "--json"]
            report = subprocess.run(told, cwd=project, env=env, capture_output=True, text=True, check=True).stdout
            ignored, refused = not marker.exists(), json.loads(report)["files"][0]["installed"] == "unknown"
            if ignored != is_ignored or refused != is_ignored:
                wrong += 1
                print(f"{name}: Claude Code {'ignores' if ignored else 'reads'} it, flow {'refuses' if refused else 'takes'} it")
        print(f"{len(every) - wrong} of {len(every)} settings files are judged as Claude Code judges them")
        model.close()
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
