package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// diskDefects are those of failing disks and of missing descriptors.
var diskDefects = []defect{
	{
		id: "c1", measures: "the disk is full, then not any more: feedback is accepted again",
		guards: "`TestOutageEnds`, `TestSoak`", run: fullDisk,
	},
	{
		id: "c2", measures: "files cannot grow: decisions, /readyz and /livez at first; /livez later",
		guards: "`TestProbes`, `TestLongOutage`", run: probesInOutage,
	},
	{
		id: "c3", measures: "no descriptors while the log needs one, then some: feedback is accepted again",
		guards: "`TestProbeFindsMissingDescriptors`, `TestOutageEnds`, `TestSoak`", run: noDescriptors,
	},
	{
		id:       "c4",
		measures: "start on a full disk", guards: "`TestNewOnFullDisk`, `TestReadOnly`", run: startOnFullDisk,
	},
	{
		id: "c5", measures: "2 MiB are free and a snapshot needs 3: of 2,000 requests with feedback refused; what of " +
			"it stays on the disk",
		guards: "`TestSnapshotWithoutRoom`, `TestSnapshotFails`, `TestSoak`", run: nearlyFullDisk,
	},
	{
		id: "c6", measures: "2 MiB are free and the snapshots have 3: GET /v1/backup; the least that is free meanwhile",
		guards: "`TestBackupTakesNoRoom`, `TestOpenSnapshots`", run: backupOnNearlyFullDisk,
	},
	{
		id:       "d",
		measures: "`ulimit -n 256` and 400 idle connections, then none: feedback meanwhile, and after them",
		guards:   "`TestConnectionLimit`", run: idleConnections,
	},
}

// small moves the data to a disk of 256 MiB, which needs root. It skips the reproducer elsewhere.
func (r *rig) small() (dir string) {
	r.t.Helper()
	dir = filepath.Dir(r.data)
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=256m"); err != nil {
		r.t.Skipf("cannot mount a small disk, which needs root: %v", err)
	}
	r.t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			r.t.Error(err)
		}
	})
	return dir
}

// fillDisk fills the disk of a directory and returns the function that frees it again.
func (r *rig) fillDisk(dir string) (free func()) { return r.fillDiskBut(dir, 0) }

// fillDiskBut fills the disk of a directory but for some bytes.
func (r *rig) fillDiskBut(dir string, leave int64) (free func()) {
	r.t.Helper()
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		r.t.Fatal(err)
	}
	var size int64
	for _, n := range []int64{1 << 24, 1 << 18, 4096} {
		for unix.Fallocate(int(f.Fd()), 0, size, n) == nil {
			size += n
		}
	}
	if err := errors.Join(f.Truncate(size-leave), f.Close()); err != nil {
		r.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(ballast); err != nil {
			r.t.Error(err)
		}
	}
}

// reports sends feedback for one new unit of toy. It says whether it was accepted.
func (l *living) reports() bool {
	l.t.Helper()
	l.lives++ // a number that was not used before
	a := l.do("POST", "/v1/experiments/toy/decide", unitsBody(fmt.Sprint("one", l.lives, "-"), 1))
	_, rest, _ := strings.Cut(string(a.body), `"token":"`)
	token, _, ok := strings.Cut(rest, `"`)
	return ok && l.do("POST", "/v1/feedback", itemsBody(token)).status == 200
}

// fails sends feedback until it is refused, for 30 s at most.
func (l *living) fails() {
	l.t.Helper()
	tokens := l.decide("many", 1000)
	if until(30, func() bool { return l.do("POST", "/v1/feedback", itemsBody(tokens...)).status != 200 }) < 0 {
		l.t.Fatal("the log goes on")
	}
}

func fullDisk(r *rig) finding {
	dir := r.small()
	l := r.serve("--log-level", "error")
	l.apply(toyOf(""))
	free := r.fillDisk(dir)
	l.fails()
	free()
	took := until(20, l.reports)
	return found(took >= 0, "%s", soon(took, 20))
}

func probesInOutage(r *rig) finding {
	l := r.serve(append(r.optional("--log-retry", "1s"), "--log-level", "error")...)
	l.apply(toyOf(""))
	l.limit(unix.RLIMIT_FSIZE, 0)
	l.fails()
	decide := l.do("POST", "/v1/experiments/toy/decide", unitsBody("u", 1)).status
	ready, live := l.do("GET", "/readyz", "").status, l.do("GET", "/livez", "").status
	dead := until(20, func() bool { return l.do("GET", "/livez", "").status == 503 })
	later := "503"
	if dead < 0 {
		later = "200 after 20 s"
	}
	return found(decide == 200 && ready == 200 && dead >= 0, "%d, %d, %d; %s", decide, ready, live, later)
}

func noDescriptors(r *rig) finding {
	l := r.serve("--log-level", "error", "--snapshot-every", "50")
	l.apply(toyOf(""))
	for range 3 { // opens the connections and lets the snapshots begin
		l.reports()
	}
	free := l.limit(unix.RLIMIT_NOFILE, l.freeDescriptor())
	tokens := l.decide("many", 10)
	failed := until(15, func() bool {
		for range 100 {
			if l.do("POST", "/v1/feedback", itemsBody(tokens...)).status != 200 {
				return true
			}
		}
		return false
	})
	free()
	took := until(20, l.reports)
	if failed < 0 {
		return found(took >= 0, "the log needed none; feedback %s", soon(took, 20))
	}
	return found(took >= 0, "%s", soon(took, 20))
}

func startOnFullDisk(r *rig) finding {
	dir := r.small()
	l := r.serve()
	l.apply(toyOf(""))
	l.decide("u", 1)
	l.kill()
	free := r.fillDisk(dir)
	l, message := r.try()
	if l == nil {
		return found(false, "ends: %s", message[strings.LastIndex(message, ": ")+2:len(message)-1])
	}
	decides := until(10, func() bool {
		return l.do("POST", "/v1/experiments/toy/decide", unitsBody("u", 1)).status == 200
	})
	free()
	took := until(30, l.reports)
	return found(decides >= 0 && took >= 0, "decides %s; when there is room, feedback %s",
		soon(decides, 10), soon(took, 30))
}

// freeBytes returns what is free on the disk of a directory.
func freeBytes(dir string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return -1
	}
	return int64(s.Bavail) * s.Frsize
}

func nearlyFullDisk(r *rig) finding {
	dir := r.small()
	l := r.serve("--log-level", "error", "--snapshot-every", "200")
	l.apply(toyOf("exposure: immediate\n"))
	l.fill("u", 90_000)
	tokens := l.decide("many", 2000)
	r.fillDiskBut(dir, 2<<20)
	refused := 0
	for _, token := range tokens {
		if l.do("POST", "/v1/feedback", itemsBody(token)).status != 200 {
			refused++
		}
	}
	var left int64
	parts, err := filepath.Glob(filepath.Join(r.data, "log", "snapshots", "*.tmp"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range parts {
		if info, err := os.Stat(name); err == nil {
			left += info.Size()
		}
	}
	return found(refused == 0 && left == 0, "%d; %.1f MiB", refused, float64(left)/(1<<20))
}

func backupOnNearlyFullDisk(r *rig) finding {
	dir := r.small()
	l := r.serve()
	l.apply(toyOf("exposure: immediate\n"))
	l.fill("u", 90_000)
	l.stop() // saves a snapshot
	l = r.serve("--log-level", "error")
	r.fillDiskBut(dir, 2<<20)
	least, end, watched := freeBytes(dir), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(200 * time.Microsecond); ; {
			select {
			case <-tick.C:
				least = min(least, freeBytes(dir))
			case <-end:
				tick.Stop()
				return
			}
		}
	}()
	status := l.do("GET", "/v1/backup", "").status
	close(end)
	<-watched
	mib := float64(least) / (1 << 20)
	return found(status == 200 && mib > 1, "%d; %.1f MiB", status, mib)
}

func idleConnections(r *rig) finding {
	r.limits = "ulimit -n 256"
	l := r.serve("--log-level", "error", "--snapshot-every", "50")
	l.apply(toyOf(""))
	tokens := l.decide("u", 10) // holds a connection
	var idle []net.Conn
	for range 400 {
		c, err := net.Dial("tcp", strings.TrimPrefix(l.url, "http://"))
		if err != nil {
			break
		}
		idle = append(idle, c)
	}
	sent, failed := 0, 0
	for range 300 {
		sent++
		if l.do("POST", "/v1/feedback", itemsBody(tokens...)).status != 200 {
			failed++
		}
	}
	for _, c := range idle {
		_ = c.Close()
	}
	took := until(20, l.reports)
	return found(failed == 0 && took >= 0, "%d of %d fail; %s", failed, sent, soon(took, 20))
}
