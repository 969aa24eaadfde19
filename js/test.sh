#!/usr/bin/env bash
# Tests the JavaScript client against a service of its own. It needs Go, node, npm and the npm
# registry; the versions are pinned in package-lock.json. Status 75: the registry cannot be reached.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
dir=$(mktemp -d)
pid=
trap 'if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || true; fi; wait; rm -rf "$dir"' EXIT
npm ci --no-audit --no-fund --loglevel=error --ignore-scripts || exit 75
go build -o "$dir/noregret" ../cmd/noregret
"$dir/noregret" serve --data "$dir/data" --listen 127.0.0.1:0 --log-level warn >"$dir/address" &
pid=$!
until grep -q listening "$dir/address"; do kill -0 "$pid"; sleep 0.1; done
url=$(sed 's/listening on //' "$dir/address")
printf 'name: toy\narms: [{name: one, value: 1}, {name: two, value: 2}, {name: three, value: 3}]\nmetrics: [{name: x}]\npolicy: {kind: fixed, split: {one: 0.5, two: 0.3, three: 0.2}}\n' |
	"$dir/noregret" experiment apply --server "$url" -
NOREGRET_URL=$url NOREGRET=$dir/noregret npm test
