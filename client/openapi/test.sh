#!/usr/bin/env bash
# Lints the service's OpenAPI document, generates clients from it in a temporary directory, compiles
# them, and runs their loop decide, expose, feedback, report against a service. It needs Go, node, npm
# and the npm registry; the versions are pinned in package-lock.json and oapi/go.sum. Status 75: the
# registry cannot be reached.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
here=$PWD
dir=$(mktemp -d)
pid=
trap 'if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || true; fi; wait; rm -rf "$dir"' EXIT
npm ci --no-audit --no-fund --loglevel=error --ignore-scripts || exit 75
go build -o "$dir/noregret" ../../cmd/noregret
"$dir/noregret" serve --data "$dir/data" --listen 127.0.0.1:0 --log-level warn >"$dir/address" &
pid=$!
until grep -q listening "$dir/address"; do kill -0 "$pid"; sleep 0.1; done
url=$(sed 's/listening on //' "$dir/address")
printf 'name: toy\narms: [{name: one, value: 1}, {name: two, value: 2}]\nmetrics: [{name: x}]\npolicy: {kind: fixed, split: {one: 0.5, two: 0.5}}\n' |
	"$dir/noregret" experiment apply --server "$url" -

cp -r package.json tsconfig.json .spectral.yaml ./*.ts oapi "$dir"
ln -s "$here/node_modules" "$dir/node_modules"
cd "$dir"
curl -sS --fail -o openapi.json "$url/openapi.json"
bin=$here/node_modules/.bin
REDOCLY_TELEMETRY=off "$bin/redocly" lint openapi.json >lint 2>&1 || { cat lint; exit 1; }
"$bin/spectral" lint --fail-severity=error openapi.json >lint 2>&1 || { cat lint; exit 1; }
echo "redocly and spectral: no errors"

"$bin/openapi-typescript" openapi.json -o api.d.ts >/dev/null
"$bin/openapi-ts" -i openapi.json -o hey -c @hey-api/client-fetch >/dev/null
"$bin/tsc" -p .
node out/loop-openapi-typescript.js "$url" ann
node out/loop-hey-api.js "$url" bob

mv oapi/main.go.in oapi/main.go # its package gen is made here, so that go vet cannot read it in the repository
mkdir oapi/gen
(cd oapi && go tool oapi-codegen -generate types,client -package gen -o gen/gen.go ../openapi.json && GOFLAGS=-mod=mod go run . "$url" cyd)
