package docs

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// step is what a page asks of its reader: a file to write, commands to run, or a page to open.
type step struct {
	line     int
	language string // the step is for readers of this language only; "" for all

	file    string // to write text into
	text    string // of the file, or the commands
	serve   bool   // the commands start the service in another terminal
	address string // to open in the browser

	output string         // that the page shows, "" for none
	varies *regexp.Regexp // what the output and the page's must match; nil if they must be equal
}

// Directives are comments of HTML, which readers do not see.
var (
	directive = regexp.MustCompile(`^<!-- (file|varies|for): ?(.*?) ?-->$`)
	opened    = regexp.MustCompile(`<(http://127\.0\.0\.1:8430[^>]*)>`)
)

// readSteps returns the steps of a page, in their order.
//
//   - A block of the language sh is run. One that begins with "noregret serve" or "noregret score"
//     runs beside the rest.
//   - A block of the language text after it is what it prints. After <!-- varies: PATTERN --> both
//     match the pattern only, which may take several lines.
//   - A block after <!-- file: NAME --> is written to that file.
//   - <!-- for: LANGUAGE --> begins steps for readers of one language, until <!-- for: all -->.
//   - An address of the service in angle brackets is opened.
func readSteps(page string) ([]step, error) {
	var steps []step
	var file, language string
	var varies *regexp.Regexp
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		for strings.HasPrefix(line, "<!-- ") && !strings.HasSuffix(line, "-->") && i+1 < len(lines) {
			i++
			line += lines[i]
		}
		if m := directive.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "file":
				file = m[2]
			case "varies":
				var err error
				if varies, err = regexp.Compile(`(?m)` + m[2]); err != nil {
					return nil, fmt.Errorf("line %d: %w", i+1, err)
				}
			default:
				if language = m[2]; language == "all" {
					language = ""
				}
			}
			continue
		}
		if m := opened.FindStringSubmatch(line); m != nil {
			steps = append(steps, step{line: i + 1, language: language, address: m[1]})
		}
		kind, ok := strings.CutPrefix(line, "```")
		if !ok {
			continue
		}
		first := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i >= len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", first)
		}
		text := strings.Join(lines[first:i], "\n") + "\n"
		s := step{line: first, language: language, text: text}
		switch {
		case file != "":
			s.file, file = file, ""
		case kind == "sh":
			s.serve = strings.HasPrefix(text, "noregret serve") || strings.HasPrefix(text, "noregret score")
		case kind == "text" && len(steps) > 0 && steps[len(steps)-1].output == "":
			last := &steps[len(steps)-1]
			last.output, last.varies, varies = text, varies, nil
			continue
		default:
			continue
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// languages are what readers may choose, with the program that each needs.
func languages(steps []step) []string {
	var all []string
	for _, s := range steps {
		if s.language != "" && !slices.Contains(all, s.language) {
			all = append(all, s.language)
		}
	}
	if len(all) == 0 {
		return []string{""}
	}
	return all
}

var programOf = map[string]string{"": "bash", "Go": "go", "JavaScript": "node", "Python": "python3"}

// walk does what a page says, in an empty directory beside the clone, with a service on a free port
// of the loopback interface in the place of the one that the page shows.
type walk struct {
	t       *testing.T
	dir     string
	address string // HOST:PORT
	shown   string // the address of the page
	env     []string
	others  []string // other addresses of the page, each followed by the one in its place
}

// The addresses of the services on pages, which are their defaults.
const (
	serveAddress = "127.0.0.1:8430"
	scoreAddress = "127.0.0.1:8090"
)

func newWalk(t *testing.T, command string) *walk {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(clone, filepath.Join(parent, "noregret")); err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, dir: filepath.Join(parent, "empty"), address: address, shown: serveAddress}
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "NOREGRET_") && !strings.HasPrefix(v, "GOFLAGS=") {
			w.env = append(w.env, v)
		}
	}
	w.env = append(w.env, "NOREGRET_SERVER=http://"+address, "no_proxy=*", "GOWORK=off", "GOSUMDB=off",
		"PATH="+filepath.Dir(command)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return w
}

// adapt puts the walk's service into a text of the page.
func (w *walk) adapt(text string) string {
	return strings.NewReplacer(append([]string{w.shown, w.address}, w.others...)...).Replace(text)
}

func (w *walk) do(s *step) {
	w.t.Helper()
	switch {
	case s.file != "":
		if err := os.WriteFile(filepath.Join(w.dir, s.file), []byte(w.adapt(s.text)), 0o600); err != nil {
			w.t.Fatal(err)
		}
	case s.address != "":
		w.open(s)
	case s.serve:
		w.serve(s)
	default:
		cmd := exec.Command("bash", "-ec", w.adapt(s.text))
		cmd.Dir, cmd.Env = w.dir, w.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			w.t.Fatalf("line %d: %v\n%s%s", s.line, err, s.text, out)
		}
		w.check(s, string(out))
	}
}

// check compares what commands have printed with what the page shows.
func (w *walk) check(s *step, out string) {
	w.t.Helper()
	switch got := strings.ReplaceAll(out, w.address, w.shown); {
	case s.varies != nil && !(s.varies.MatchString(s.output) && s.varies.MatchString(got)):
		w.t.Errorf("line %d: the page shows\n%s\nand the commands print\n%s\nwant both to match %q", s.line, s.output,
			got, s.varies)
	case s.varies == nil && !contains(got, s.output):
		w.t.Errorf("line %d: the page shows\n%s\nand the commands print\n%s", s.line, s.output, got)
	}
}

// contains reports whether text has the lines of want. A line "..." stands for any lines.
func contains(text, want string) bool {
	for _, part := range strings.Split(want, "...\n") {
		var ok bool
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
	}
	return true
}

// open gets a page of the service.
func (w *walk) open(s *step) {
	w.t.Helper()
	answer, err := http.Get(w.adapt(s.address))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		w.t.Errorf("line %d: %s: %s, %v", s.line, s.address, answer.Status, err)
	}
}

// serve starts the service, which ends with the test.
func (w *walk) serve(s *step) {
	w.t.Helper()
	fields := strings.Fields(s.text)
	if fields[1] == "score" {
		w.shown = scoreAddress
	}
	cmd := exec.Command(commandPath(w.t), append(fields[1:], "--listen", w.address)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("%v: %s", err, failed.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "listening on ") {
		w.t.Fatalf("line %d: the service printed %q, %v: %s", s.line, line, err, failed.String())
	}
}

// walkPage does what a page says, once for each language that it has. A page may say nothing to do.
func walkPage(t *testing.T, file string) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := readSteps(string(page))
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) == 0 {
		return
	}
	if _, err := exec.LookPath("curl"); err != nil && bytes.Contains(page, []byte("\ncurl ")) {
		fmt.Printf("NOTE: curl is not installed: %s is NOT tested.\n", file)
		return
	}
	servers := bytes.Contains(page, []byte("nats-server"))
	if servers && testing.Short() {
		fmt.Printf("NOTE: %s takes half a minute and is NOT tested with -short.\n", file)
		return
	}
	command := commandPath(t)
	for _, language := range languages(steps) {
		t.Run(cmp.Or(language, "shell"), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(programOf[language]); err != nil {
				fmt.Printf("NOTE: %s is not installed: the %s part of %s is NOT tested.\n", programOf[language],
					language, file)
				return
			}
			w := newWalk(t, command)
			if servers {
				w.cluster(string(page))
			}
			for i := range steps {
				if s := &steps[i]; s.language == "" || s.language == language {
					begun := time.Now()
					w.do(s)
					t.Logf("line %d: %.1f s", s.line, time.Since(begun).Seconds())
				}
			}
		})
	}
}
