#!/usr/bin/env bash
# Tests the Python client against services of its own. It needs python3, and Go for the command,
# unless NOREGRET names it. Status 75: there is no python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v python3 >/dev/null || { echo "python3 is not installed: the Python client is NOT tested" >&2; exit 75; }
if [ -z "${NOREGRET:-}" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	go build -o "$dir/noregret" ../cmd/noregret
	export NOREGRET="$dir/noregret"
fi
PYTHONDONTWRITEBYTECODE=1 python3 -W error -m unittest "$@"
