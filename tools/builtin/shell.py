"""The shell, in the user's terminal backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_site.lib.errors import ModelRecoverable
from tools.declare import Classification, ToolContext, tool
from tools.gate import PlainRepositories, judge

MAX_TIMEOUT = 600


def classify(arguments: dict[str, Any], workspace: Path) -> Classification:
    """``read`` only when the gate proves it. The sandbox's home is empty, so git obeys the
    settings of the workspace alone."""
    folder = workspace / str(arguments.get("workdir") or ".").removeprefix("/workspace/")
    plain = PlainRepositories(workspace, folder)
    verdict = judge(str(arguments.get("command", "")), git_is_plain=plain)
    return Classification(
        verdict.category, verdict.why, verdict.forbidden, verdict.needs_approval, verdict.commands
    )


@tool(
    name="shell",
    description=(
        "Run a shell command in your sandboxed workspace (/workspace, no network) and return its "
        "output and exit code. Commands that only read run at once; others may need a person's yes."
    ),
    category="system",
    parameters={
        "command": {"type": "string", "description": "The command line.", "required": True},
        "timeout": {
            "type": "integer",
            "description": "Seconds until it is stopped.",
            "default": 30,
            "minimum": 1,
            "maximum": MAX_TIMEOUT,
        },
        "workdir": {"type": "string", "description": "Folder below /workspace to run it in."},
    },
    security={"risk_level": "medium"},
    classify=classify,
    timeout=MAX_TIMEOUT + 30,
)
def shell(ctx: ToolContext, command: str, timeout: int = 30, workdir: str = ".") -> dict[str, Any]:
    if not command.strip():
        raise ModelRecoverable("The command is empty.")
    result = ctx.backend.execute(
        command,
        workspace=ctx.workspace,
        cwd=workdir,
        timeout=timeout,
        on_output=ctx.emit,
        cancelled=ctx.cancelled,
    )
    notes = [result.output.rstrip("\n")]
    if result.truncated:
        notes.append("[the output was cut]")
    if result.timed_out:
        notes.append(f"[stopped after {timeout} s]")
    if result.error:
        notes.append(f"[{result.error}]")
    notes.append(f"[exit code {'none' if result.exit_code is None else result.exit_code}]")
    return {"success": result.exit_code == 0, "result": "\n".join(filter(None, notes))}


TOOLS = [shell]
