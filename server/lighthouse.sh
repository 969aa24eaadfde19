#!/bin/bash
# Measures the dashboard with Lighthouse in Chromium, and fails unless every page has 100 for
# accessibility and for best practices. Needs node, the npm registry and Chromium (CHROME_PATH).
set -euo pipefail
cd "$(dirname "$0")/.."
lighthouse=12.8.2
dir=$(mktemp -d)
service=
trap '[ -z "$service" ] || kill "$service"; rm -rf "$dir"' EXIT
export CHROME_PATH=${CHROME_PATH:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
CGO_ENABLED=0 go build -o "$dir/noregret" ./cmd/noregret
"$dir/noregret" demo --keep "$dir/data" --exit --rounds 20 > "$dir/demo.txt"
"$dir/noregret" serve --data "$dir/data" --listen 127.0.0.1:0 > "$dir/serve.txt" 2>&1 &
service=$!
for _ in $(seq 100); do
  url=$(sed -n 's/^listening on //p' "$dir/serve.txt")
  [ -n "$url" ] && curl -sf "$url/readyz" > "$dir/ready.txt" && break
  sleep 0.1
done
one=/experiments/ranking
for page in / "$one" "$one/edit" "$one/pause" "$one/conclude" "$one/explain"; do
  npx --yes "lighthouse@$lighthouse" "$url$page" --quiet --chrome-flags='--headless=new --no-sandbox' \
    --max-wait-for-load=8000 --only-categories=accessibility,best-practices,seo --output=json \
    --output-path="$dir/report.json"
  node -e '
    const report = JSON.parse(require("fs").readFileSync(process.argv[1]));
    const scores = Object.values(report.categories).map((c) => [c.id, Math.round(100 * c.score)]);
    console.log(process.argv[2], scores.map(([id, score]) => `${id} ${score}`).join(", "));
    process.exit(scores.some(([, score]) => score < 100) ? 1 : 0);' "$dir/report.json" "$page"
done
