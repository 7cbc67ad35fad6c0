"""The daemon as a service of a person, which starts at login: by systemd, launchd or the Task Scheduler of Windows."""
