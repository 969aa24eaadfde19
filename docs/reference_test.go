package docs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

//go:generate go test -count=1 -run ^TestReference -args -rewrite

var rewrite = flag.Bool("rewrite", false, "write the pages that are made from the code anew")

// made is the head of a page that is made from the code.
func made(title, text string) string {
	return "# " + title + "\n\n<!-- Made from the code by \"go generate ./docs\". Do not edit. -->\n\n" + text + "\n"
}

// checkPage compares a page with what the code says. With -rewrite it writes the page.
func checkPage(t *testing.T, path, text string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != text {
		t.Errorf("%s is not what the code says, %v: run go generate ./docs", path, err)
	}
}

// TestReferenceOfCommands: reference/commands.md has the flags of every command.
func TestReferenceOfCommands(t *testing.T) {
	t.Parallel()
	page := made("Commands and flags", "`noregret help COMMAND` prints the manual of a command, with examples.\n"+
		"Every command has `--help` and `--progress auto|plain|quiet`, and every command that calls\n"+
		"a service `--server` and `--token-file`. Flags of `noregret serve` can be set by variables and\n"+
		"in a file, too: [service.md](../service.md#configuration).")
	command := commandPath(t)
	n := 0
	var walk func(names []string)
	walk = func(names []string) {
		for _, c := range subcommands(t, command, names) {
			path := append(slices.Clone(names), c[0])
			n++
			page += fmt.Sprintf("\n## noregret %s\n\n%s.\n\n```text\n%s```\n", strings.Join(path, " "), c[1],
				flagsOf(t, command, path))
			walk(path)
		}
	}
	walk(nil)
	if n < 40 {
		t.Errorf("only %d commands", n)
	}
	checkPage(t, "reference/commands.md", page)
}

// subcommands returns the names of the commands below a command, with their descriptions.
func subcommands(t *testing.T, command string, names []string) (out [][2]string) {
	t.Helper()
	text, err := exec.Command(command, append(append([]string{"__complete"}, names...), "")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, short, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ok && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(name) && name != "help" {
			out = append(out, [2]string{name, short})
		}
	}
	return out
}

// machine matches the defaults that depend on the machine.
var machine = regexp.MustCompile(
	`(?m)^( +--(?:max-connections|max-connections-per-address|max-reads|open-memory|open-disk) .*) \(default [0-9]+\)$`)

// flagsOf returns the usage of a command with all of its flags, but not those that all commands
// have.
func flagsOf(t *testing.T, command string, path []string) string {
	t.Helper()
	all, err := exec.Command(command, append(slices.Clone(path), "--help-all")...).Output()
	if err != nil {
		if all, err = exec.Command(command, append(slices.Clone(path), "--help")...).Output(); err != nil {
			t.Fatalf("%q: %v", path, err)
		}
	}
	text := string(all)
	_, usage, ok := strings.Cut(text, "\nUsage:\n")
	if !ok {
		t.Fatalf("%q has no usage", path)
	}
	usage, _, _ = strings.Cut(usage, "\n\n")
	flags := ""
	if _, rest, ok := strings.Cut(text, "\nFlags:\n"); ok {
		rest, _, _ = strings.Cut(rest, "\n\n")
		for line := range strings.Lines(rest + "\n") {
			if !strings.Contains(line, "--help ") {
				flags += line
			}
		}
	}
	lines := strings.Split(usage, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	out := strings.Join(lines, "\n") + "\n"
	if strings.TrimSpace(flags) != "" {
		out += "\n" + strings.TrimRight(flags, "\n") + "\n"
	}
	return machine.ReplaceAllString(out, "$1")
}

// TestReferenceOfAlerts: reference/alerts.md has the rules for Prometheus.
func TestReferenceOfAlerts(t *testing.T) {
	t.Parallel()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Record, Expr, For string
				Labels, Annotations      map[string]string
			}
		}
	}
	text, err := os.ReadFile("../deploy/prometheus/noregret.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	page := made("Rules for alerts", "The rules of [deploy/prometheus](../../deploy/prometheus/noregret.rules.yaml).\n"+
		"[What to do for each alert](../how-to/alerts.md) has the rest, also for alerts by webhook.")
	page += "\n| alert | severity | after | expression |\n| --- | --- | --- | --- |\n"
	records := "\n| recorded rate | expression |\n| --- | --- |\n"
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			expr := "`" + strings.ReplaceAll(strings.Join(strings.Fields(r.Expr), " "), "|", "\\|") + "`"
			if r.Alert == "" {
				records += fmt.Sprintf("| `%s` | %s |\n", r.Record, expr)
				continue
			}
			_, anchor, _ := strings.Cut(r.Annotations["runbook"], "#")
			page += fmt.Sprintf("| [%s](../how-to/alerts.md#%s) | %s | %s | %s |\n", r.Alert, anchor,
				r.Labels["severity"], r.For, expr)
		}
	}
	checkPage(t, "reference/alerts.md", page+records)
}
