"""``completion``: what a shell reads to complete commands."""

from __future__ import annotations

from typing import Annotated

from appliance.cli import options, output
from appliance.cli.options import argument
from appliance.errors import UsageError


def completion(
    shell: Annotated[str, argument("bash|zsh|fish", "The shell.")],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Print the file that completes commands in a shell: verbs, options, their values, and paths.

    The shell reads it once; completing starts no program. The offline kit and the Debian package bring the files.

    \b
    Examples:
      appliance completion bash > ~/.local/share/bash-completion/completions/appliance
      eval "$(appliance completion bash)"
      appliance completion zsh > "${fpath[1]}/_appliance"
      appliance completion fish > ~/.config/fish/completions/appliance.fish
    """
    from appliance.cli.reference import shells

    if shell not in shells.SCRIPTS:
        raise UsageError(f"There is no completion for {shell!r}.", hint=f"Use one of {', '.join(shells.SCRIPTS)}.")
    script = shells.completion_script(shell)
    if json:
        output.print_json({"shell": shell, "script": script})
    else:
        output.print_line(script.rstrip("\n"))
