#!/usr/bin/env bash
# Runs test.mjs against a service of its own, and TestBrowserOFREP. It needs node, npm and the npm registry; the versions are pinned in package-lock.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
dir=$(mktemp -d)
pid=
trap 'if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || true; fi; wait; rm -rf "$dir"' EXIT
npm ci --no-audit --no-fund --loglevel=error || exit 75 # the registry cannot be reached
go build -o "$dir/noregret" ../../cmd/noregret
"$dir/noregret" serve --data "$dir/data" --listen 127.0.0.1:0 --log-level warn >"$dir/address" &
pid=$!
until grep -q listening "$dir/address"; do kill -0 "$pid"; sleep 0.1; done
url=$(sed 's/listening on //' "$dir/address")
for flag in 'number 0.5 2' 'text "red" "blue"' 'switch true false' 'object {"a":[1]} {"a":[]}'; do
	read -r name one two <<<"$flag"
	printf '{"name": "%s", "arms": [{"name": "one", "value": %s}, {"name": "two", "value": %s}], "metrics": [{"name": "x"}], "policy": {"kind": "fixed", "split": {"one": 0.5, "two": 0.5}}}' \
		"$name" "$one" "$two" | "$dir/noregret" experiment apply --server "$url" -
done
node test.mjs "$url"
# The provider for web pages, from a page of another origin, in a browser.
cd ../..
NOREGRET_NODE_MODULES="$PWD/client/js/node_modules" go test -count=1 -v -run '^TestBrowserOFREP$' ./server
