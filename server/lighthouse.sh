#!/bin/bash
# Measures the dashboard with Lighthouse in Chromium, and fails unless every page has 100 for
# accessibility, best practices and SEO. It prints performance, too, and requires PERFORMANCE of it
# (default 0): that is Lighthouse's simulation of a slow phone (slow 4G, a processor four times
# slower than this one), the median of RUNS runs (default 3), and other work on the machine lowers
# it. Needs node, the npm registry and Chromium (CHROME_PATH).
set -euo pipefail
cd "$(dirname "$0")/.."
lighthouse=12.8.2
runs=${RUNS:-3}
dir=$(mktemp -d)
services=()
trap 'for s in "${services[@]}"; do kill "$s"; done; rm -rf "$dir"' EXIT
export CHROME_PATH=${CHROME_PATH:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
CGO_ENABLED=0 go build -o "$dir/noregret" ./cmd/noregret
"$dir/noregret" demo --keep "$dir/data" --exit --rounds 20 > "$dir/demo.txt"
printf 'tokens:\n  - {name: eye, roles: [read], token: a-token-of-lighthouse}\n' > "$dir/tokens.yaml"
chmod 600 "$dir/tokens.yaml"

# serve NAME ARGS...: starts a service and sets url
serve() {
  local name=$1
  shift
  "$dir/noregret" serve --listen 127.0.0.1:0 "$@" > "$dir/$name.txt" 2>&1 &
  services+=($!)
  for _ in $(seq 100); do
    url=$(sed -n 's/^listening on //p' "$dir/$name.txt")
    [ -n "$url" ] && curl -sf "$url/readyz" > "$dir/ready.txt" && return
    sleep 0.1
  done
  cat "$dir/$name.txt"
  exit 1
}

# measure PAGE: prints the scores of a page of url
failed=0
measure() {
  local reports=()
  for run in $(seq "$runs"); do
    npx --yes "lighthouse@$lighthouse" "$url$1" --quiet --chrome-flags='--headless=new --no-sandbox' \
      --throttling-method=simulate --max-wait-for-load=8000 --output=json --output-path="$dir/report-$run.json" \
      --only-categories=performance,accessibility,best-practices,seo
    reports+=("$dir/report-$run.json")
  done
  node -e '
    const [page, ...files] = process.argv.slice(1);
    const reports = files.map((f) => JSON.parse(require("fs").readFileSync(f)));
    const ids = Object.keys(reports[0].categories);
    const scores = ids.map((id) => {
      const all = reports.map((r) => Math.round(100 * r.categories[id].score)).sort((a, b) => a - b);
      return [id, all[all.length >> 1]];
    });
    console.log(page, scores.map(([id, score]) => `${id} ${score}`).join(", "));
    const least = (id) => id === "performance" ? Number(process.env.PERFORMANCE ?? 0) : 100;
    for (const [id, score] of scores) {
      if (score === 100) continue;
      for (const ref of reports[0].categories[id].auditRefs) {
        const audit = reports[0].audits[ref.id];
        if (audit.score === null || audit.score >= 0.995 || ref.weight === 0 && id !== "performance") continue;
        console.log("  " + ref.id, audit.displayValue ?? audit.title);
      }
    }
    process.exit(scores.some(([id, score]) => score < least(id)) ? 1 : 0);' "$1" "${reports[@]}" || failed=1
}

serve open --data "$dir/data"
one=/experiments/ranking
for page in / "$one" "$one?axis=version" "$one/edit" "$one/history" "$one/pause" "$one/rollback" "$one/conclude" \
  "$one/explain"; do
  measure "$page"
done
serve guarded --data "$dir/guarded" --tokens "$dir/tokens.yaml"
measure /login
exit $failed
