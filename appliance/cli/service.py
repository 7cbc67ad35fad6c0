"""``service``: the daemon starts at login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, output
from appliance.cli.options import flag
from appliance.paths import create_home, find_home

if TYPE_CHECKING:
    from appliance.server.service.plan import ServiceState

verbs = typer.Typer()


@verbs.callback(invoke_without_command=True)
def service(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Start the daemon at login, by systemd, launchd or the Task Scheduler of Windows.

    \b
    Examples:
      appliance service install
      appliance service status
      appliance service remove
    """
    if context.invoked_subcommand is None:
        status(home, json)
    else:
        options.inherit_options(context, home, json)


@verbs.command("install")
def install(
    only_print: Annotated[bool, flag("--print", "Print what would be written; change nothing.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Start the daemon now and at each login. What was installed before is replaced.

    The service may reach this machine only, unless the settings name another one.

    \b
    Examples:
      appliance service install
      appliance service install --print
    """
    from appliance.server.service.plan import plan_for, service_manager

    manager = service_manager()
    if only_print:
        files = {str(path): content for path, content in manager.files(plan_for(find_home(home))).items()}
        if json:
            output.print_json({"manager": manager.name, "files": files})
        else:
            for path, content in files.items():
                output.print_line(f"# {path}\n{content}")
        return
    plan = plan_for(create_home(find_home(home)))
    manager.install(plan)
    _print(manager.state(plan), json)


@verbs.command("status")
def status(home: options.Home = None, json: options.Json = False) -> None:
    """Show whether the daemon starts at login, and whether it runs.

    \b
    Examples:
      appliance service status
      appliance service status --json
    """
    from appliance.server.service.plan import plan_for, service_manager

    _print(service_manager().state(plan_for(find_home(home))), json)


@verbs.command("remove")
def remove(home: options.Home = None, json: options.Json = False) -> None:
    """Stop the daemon, and no longer start it at login. The memory stays.

    \b
    Examples:
      appliance service remove
    """
    from appliance.server.service.plan import plan_for, service_manager

    removed = service_manager().remove(plan_for(find_home(home)))
    if json:
        output.print_json({"removed": removed})
    else:
        output.print_line("The service is removed." if removed else "No service is installed.")


def _print(state: ServiceState, json: bool) -> None:
    if json:
        files = [str(path) for path in state.files]
        output.print_json({
            "manager": state.manager, "installed": state.installed, "running": state.running, "current": state.current,
            "files": files, "detail": state.detail,
        })  # fmt: skip
        return
    output.print_fields({
        "manager": state.manager,
        "at login": "yes" if state.installed else "no",
        "running": f"{'yes' if state.running else 'no'}" + (f", {state.detail}" if state.detail else ""),
        **({"files": "\n".join(map(output.display_path, state.files))} if state.files else {}),
    })  # fmt: skip
    if state.installed and not state.current:
        output.say(
            "Its files differ from what 'appliance service install' would write now. Install it again to renew them."
        )
