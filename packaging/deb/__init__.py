"""The Debian package: what it holds, and what it tells dpkg. See packaging/README.md."""
