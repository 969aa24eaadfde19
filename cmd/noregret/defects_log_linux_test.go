package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// logDefects are those of the data directory and of the tools for it.
var logDefects = []defect{
	{
		id: "keys", measures: "keys.json is lost: start, and feedback for an earlier decision",
		guards: "`TestLostKeys`", run: lostKeys,
	},
	{
		id: "umask", measures: "files of the data directory that others may read, with umask 0",
		guards: "`TestPrivateFiles`", run: umask,
	},
	{
		id: "secrets", measures: "the file of access tokens can be read by all: warnings",
		guards: "`TestReadableSecrets`", run: readableSecrets,
	},
	{
		id:       "copies",
		measures: "copies under load that open: of 5 by cp -r; of 3 by `noregret backup` and `restore`",
		guards:   "`TestHotCopies`, `TestBackupUnderLoad`", run: hotCopies,
	},
	{
		id: "import", measures: "`log export` of a log whose first events are gone, then `log import`",
		guards: "`TestScripts/logdamage`, `TestExportImport`", run: exportImport,
	},
	{
		id: "retention", measures: "events older than `--retain 2s`, without traffic: dropped",
		guards: "`TestRetentionWithoutTraffic`", long: true, run: idleRetention,
	},
	{
		id: "repair", measures: "`log repair` of a log whose first event is damaged: says what it drops",
		guards: "`TestRepair`, `TestScripts/logdamage`", run: repairSays,
	},
	{
		id:       "pipe",
		measures: "a FIFO in the place of the log's mark: `log verify`", guards: "`TestPipes`", run: pipeInLog,
	},
	{
		id:       "sparse",
		measures: "a damaged file of the log that claims to be of 1 GiB, with holes: memory of `log verify`",
		guards:   "`TestSparse`", run: sparseFile,
	},
	{
		id: "vanish", measures: "the data directory is moved away: feedback afterwards; what of it is in the log",
		guards: "`TestVanishedDirectory`", run: vanishedDirectory,
	},
	{
		id: "paths", measures: "the log fails: paths of the disk in the answer to feedback",
		guards: "`TestNoPathsInAnswers`", run: pathsInAnswers,
	},
}

func lostKeys(r *rig) finding {
	l := r.serve()
	l.apply(toyOf(""))
	token := l.decide("u", 1)[0]
	l.stop()
	if err := os.Remove(filepath.Join(r.data, "keys.json")); err != nil {
		r.t.Fatal(err)
	}
	if l, _ = r.try(); l == nil {
		return found(true, "does not start")
	}
	var c counts
	l.must("POST", "/v1/feedback", itemsBody(token), &c)
	return found(false, "starts; %d rejected", c.Rejected)
}

func umask(r *rig) finding {
	r.limits = "umask 0"
	l := r.serve("--snapshot-every", "5")
	l.apply(toyOf(""))
	for range 12 {
		l.reports()
	}
	l.stop()
	open, all := 0, 0
	err := filepath.WalkDir(r.data, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if all++; err == nil && info.Mode().Perm()&0o077 != 0 {
			open++
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return found(open == 0, "%d of %d", open, all)
}

func readableSecrets(r *rig) finding {
	path := r.write("tokens.yaml", accessTokens)
	if err := os.Chmod(path, 0o644); err != nil {
		r.t.Fatal(err)
	}
	l := r.serve("--tokens", path)
	n := 0
	for line := range strings.Lines(l.logged()) {
		if strings.Contains(line, "WARN") && strings.Contains(line, "tokens.yaml") {
			n++
		}
	}
	return found(n > 0, "%d", n)
}

// busy sends feedback until the returned function is called.
func (l *living) busy() (stop func()) {
	var all sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				tokens := l.decide(fmt.Sprint("busy", i, "-", n, "-"), 100)
				l.do("POST", "/v1/feedback", itemsBody(tokens...))
			}
		})
	}
	return func() { close(done); all.Wait() }
}

func hotCopies(r *rig) finding {
	l := r.serve("--snapshot-every", "200")
	l.apply(toyOf(""))
	stop := l.busy()
	sound, backups := 0, 0
	var copies []string
	for i := range 5 {
		to := filepath.Join(filepath.Dir(r.data), "copy"+strconv.Itoa(i))
		_ = exec.Command("cp", "-r", r.data, to).Run() // files that vanish meanwhile are left out
		copies = append(copies, to)
	}
	for i := range 3 {
		name := filepath.Join(filepath.Dir(r.data), "backup"+strconv.Itoa(i))
		if _, err := r.run("backup", "--server", l.url, "--output", name+".tar"); err != nil {
			continue
		}
		if _, err := r.run("restore", name+".tar", "--data", name); err != nil {
			continue
		}
		if _, err := r.run("log", "replay", "--data", name); err == nil {
			backups++
		}
	}
	stop()
	for _, dir := range copies {
		if _, err := r.run("log", "verify", "--data", dir); err == nil {
			sound++
		}
	}
	return found(backups == 3, "%d; %d", sound, backups)
}

// firstKept returns the first position that the service's log still has.
func (l *living) firstKept() int {
	l.t.Helper()
	_, rest, _ := strings.Cut(string(l.do("GET", "/v1/export", "").body), `"position":`)
	digits, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1 << 30 // there are no events
	}
	return n
}

func exportImport(r *rig) finding {
	l := r.serve("--retain", "1ms", "--snapshot-every", "5")
	l.apply(toyOf(""))
	gone := until(20, func() bool { l.reports(); return l.firstKept() > 1 })
	if gone < 0 {
		r.t.Fatal("no event was dropped")
	}
	l.stop()
	events, snapshot := filepath.Join(filepath.Dir(r.data), "events"), filepath.Join(filepath.Dir(r.data), "snapshot")
	export := []string{"log", "export", "--data", r.data, "--output", events}
	imported := []string{"log", "import", events, "--data", filepath.Join(filepath.Dir(r.data), "other")}
	if help, _ := r.run("help", "log", "import"); strings.Contains(help, "--snapshot ") {
		export, imported = append(export, "--snapshot", snapshot), append(imported, "--snapshot", snapshot)
	}
	if out, err := r.run(export...); err != nil {
		r.t.Fatal(out)
	}
	if _, err := r.run(imported...); err != nil {
		return found(false, "refused")
	}
	return found(true, "imported, with the snapshot")
}

func idleRetention(r *rig) finding {
	l := r.serve("--retain", "2s")
	l.apply(toyOf(""))
	for range 20 {
		l.reports()
	}
	took := until(90, func() bool { return l.firstKept() > 20 })
	if took < 0 {
		return found(false, "not within 90 s")
	}
	return found(true, "yes")
}

// damage changes the first event in the files of the log, and returns these files.
func (r *rig) damage() (damaged []string) {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.data, "log/events/*"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			r.t.Fatal(err)
		}
		if i := strings.Index(string(b), `"kind":"fixed"`); i >= 0 {
			b[i] ^= 4
			damaged = append(damaged, f)
			if err := errors.Join(os.Remove(f), os.WriteFile(f, b, 0o600)); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	if len(damaged) == 0 {
		r.t.Fatal("no file has the first event")
	}
	return damaged
}

func repairSays(r *rig) finding {
	l := r.serve()
	l.apply(toyOf("")) // the first event
	for range 5 {
		l.reports()
	}
	l.kill()
	r.damage()
	out, _ := r.run("log", "repair", "--data", r.data, "--accept-loss", "100")
	says := strings.Contains(out, "dropped: the acknowledged positions 1 to ")
	return found(says, "%s", map[bool]string{true: "yes", false: "no"}[says])
}

func pipeInLog(r *rig) finding {
	l := r.serve()
	l.apply(toyOf(""))
	l.stop()
	mark := filepath.Join(r.data, "log/mark")
	if err := os.Remove(mark); err != nil {
		r.t.Fatal(err)
	}
	if err := syscall.Mkfifo(mark, 0o600); err != nil {
		r.t.Fatal(err)
	}
	c := exec.Command(r.command, "log", "verify", "--data", r.data)
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	hangs := time.AfterFunc(5*time.Second, func() { _ = c.Process.Kill() })
	_ = c.Wait()
	if hangs.Stop() {
		return found(c.ProcessState.ExitCode() > 0, "ends with status %d", c.ProcessState.ExitCode())
	}
	return found(false, "hangs")
}

func sparseFile(r *rig) finding {
	l := r.serve()
	l.apply(toyOf(""))
	l.reports()
	l.kill()
	for _, f := range r.damage() {
		if err := os.Truncate(f, 1<<30); err != nil {
			r.t.Skip(err)
		}
	}
	c := exec.Command(r.command, "log", "verify", "--data", r.data)
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(ended)
	}()
	// Not the process's own account of its maximum, in which the kernel counts the memory of this
	// test before the exec.
	peak := 0.0
	for {
		select {
		case <-ended:
			if peak == 0 {
				r.t.Fatal("the command ended before it was looked at")
			}
			return found(peak < 500, "%.0f MiB", peak)
		default:
			if mib, ok := highestMemory(c.Process.Pid); ok {
				peak = mib
			}
		}
	}
}

// highestMemory returns the most MiB that a process has had in memory, while it runs.
func highestMemory(pid int) (mib float64, ok bool) {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if self, _ := os.Executable(); err != nil || name == self {
		return 0, false
	}
	_, rest, ok := strings.Cut(string(b), "VmHWM:")
	if f := strings.Fields(rest); ok && len(f) > 0 {
		kib, err := strconv.ParseFloat(f[0], 64)
		return kib / 1024, err == nil
	}
	return 0, false
}

func vanishedDirectory(r *rig) finding {
	l := r.serve("--log-level", "error")
	l.apply(toyOf(""))
	tokens := l.decide("u", 50)
	away := r.data + "-away"
	if err := os.Rename(r.data, away); err != nil {
		r.t.Fatal(err)
	}
	acknowledged := 0
	for _, token := range tokens {
		if l.do("POST", "/v1/feedback", itemsBody(token)).status == 200 {
			acknowledged++
		}
	}
	if err := os.RemoveAll(away); err != nil { // as whoever removes a directory does
		r.t.Fatal(err)
	}
	l.kill()
	return found(acknowledged == 0, "%d of 50 acknowledged and lost", acknowledged)
}

func pathsInAnswers(r *rig) finding {
	l := r.serve("--log-level", "error")
	l.apply(toyOf(""))
	tokens := l.decide("u", 1000)
	l.limit(unix.RLIMIT_FSIZE, 0)
	shown := false
	failed := until(30, func() bool {
		a := l.do("POST", "/v1/feedback", itemsBody(tokens...))
		shown = shown || a.status != 200 && strings.Contains(string(a.body), filepath.Dir(r.data))
		return a.status != 200
	})
	for range 3 {
		a := l.do("POST", "/v1/feedback", itemsBody(tokens...))
		shown = shown || strings.Contains(string(a.body), filepath.Dir(r.data))
	}
	return found(failed >= 0 && !shown, "%s", map[bool]string{true: "yes", false: "no"}[shown])
}
