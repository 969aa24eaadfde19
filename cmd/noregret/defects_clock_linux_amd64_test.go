package main

import (
	"bufio"
	"encoding/binary"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	clockDefects = []defect{
		{
			id:       "f",
			measures: "accepted of 50 items when the clock is set back by 2 h; by 21 h ahead and back again",
			guards:   "`TestClockSteps`, `TestClockLeaps`, `TestSoak`", run: clockSteps,
		},
	}
}

// traced is a process whose clock is ahead of the machine's. The process is traced: its view of the
// kernel's shared code, which reads the clock without a call, is hidden, and the calls that read
// the clock get another result.
type traced struct {
	pid   int
	ahead atomic.Int64 // seconds
	ended chan error
}

// trace starts a process that writes to a file and a pipe, and traces it until it ends.
func trace(command string, args []string, out, log *os.File) (*traced, error) {
	p := &traced{ended: make(chan error, 1)}
	begun := make(chan error)
	onChildlessThread(func() {
		attr := &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{0, out.Fd(), log.Fd()}, Sys: &syscall.SysProcAttr{Ptrace: true},
		}
		var err error
		if p.pid, err = syscall.ForkExec(command, append([]string{command}, args...), attr); err == nil {
			err = p.prepare()
		}
		begun <- err
		if err == nil {
			p.ended <- p.follow()
		}
	})
	return p, <-begun
}

// onChildlessThread runs f in a goroutine of its own, on a thread that ends with it and has started
// no process: a process is traced by one thread, which waits for all of its children, and another
// test that waits for one of them would find none.
func onChildlessThread(f func()) {
	go func() {
		runtime.LockOSThread()
		const options = unix.WEXITED | unix.WNOHANG | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD
		if err := unix.Waitid(unix.P_ALL, 0, nil, options, nil); err == unix.ECHILD {
			f()
			return
		}
		defer runtime.UnlockOSThread()
		done := make(chan struct{})
		onChildlessThread(func() { // on another thread, as this one is taken
			defer close(done)
			f()
		})
		<-done
	}()
}

// prepare waits until the program is loaded, hides the kernel's code from it and lets it begin.
func (p *traced) prepare() error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.pid, &status, 0, nil); err != nil {
		return err
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(p.pid, &regs); err != nil {
		return err
	}
	// The stack has the number of arguments, the arguments, the variables and pairs of a kind and a
	// value, all but the first ended by 0.
	const sharedCode, ignored = 33, 1
	at := uintptr(regs.Rsp) + 8
	var word [8]byte
	read := func() (uint64, error) {
		_, err := syscall.PtracePeekData(p.pid, at, word[:])
		at += 8
		return binary.LittleEndian.Uint64(word[:]), err
	}
	for range 2 {
		for v := uint64(1); v != 0; {
			var err error
			if v, err = read(); err != nil {
				return err
			}
		}
	}
	for kind := uint64(1); kind != 0 && kind != sharedCode; {
		var err error
		if kind, err = read(); err != nil {
			return err
		}
		if kind == sharedCode {
			binary.LittleEndian.PutUint64(word[:], ignored)
			if _, err := syscall.PtracePokeData(p.pid, at-8, word[:]); err != nil {
				return err
			}
		}
		at += 8 // the value
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(p.pid, options); err != nil {
		return err
	}
	return syscall.PtraceSyscall(p.pid, 0)
}

// follow lets the threads of the process run from one call of the kernel to the next until it ends.
func (p *traced) follow() error {
	for {
		var status syscall.WaitStatus
		// Only children of this thread, which are all of the traced process.
		thread, err := syscall.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return err
		case status.Exited() || status.Signaled():
			if thread == p.pid {
				return nil
			}
			continue
		}
		signal := 0
		switch s := status.StopSignal(); s {
		case syscall.SIGTRAP | 0x80:
			p.call(thread)
		case syscall.SIGTRAP, syscall.SIGSTOP: // a new thread
		default:
			signal = int(s)
		}
		if err := syscall.PtraceSyscall(thread, signal); err != nil && err != syscall.ESRCH {
			return err
		}
	}
}

// call changes the result of a call that has read the clock.
func (p *traced) call(thread int) {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(thread, &regs); err != nil || regs.Orig_rax != unix.SYS_CLOCK_GETTIME ||
		regs.Rdi != unix.CLOCK_REALTIME || regs.Rax != 0 {
		return
	}
	var seconds [8]byte
	if _, err := syscall.PtracePeekData(thread, uintptr(regs.Rsi), seconds[:]); err != nil {
		return
	}
	now := int64(binary.LittleEndian.Uint64(seconds[:])) + p.ahead.Load()
	binary.LittleEndian.PutUint64(seconds[:], uint64(now))
	_, _ = syscall.PtracePokeData(thread, uintptr(regs.Rsi), seconds[:]) // it may have been killed
}

// serveTraced starts the service with a clock of its own.
func (r *rig) serveTraced() (*living, *traced) {
	r.t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	l := &living{rig: r, log: filepath.Join(r.t.TempDir(), "log"), http: &http.Client{Timeout: time.Minute}}
	log, err := os.Create(l.log)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p, err := trace(r.command, []string{"serve", "--data", r.data, "--listen", "127.0.0.1:0"}, out, log)
	if err != nil {
		r.t.Skipf("processes cannot be traced here: %v", err)
	}
	r.t.Cleanup(func() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		if err := <-p.ended; err != nil {
			r.t.Error(err)
		}
		_ = in.Close()
	})
	line, err := bufio.NewReader(in).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		r.t.Fatalf("the service does not start: %s", l.logged())
	}
	l.url = url
	return l, p
}

func clockSteps(r *rig) finding {
	const hour = 3600
	l, p := r.serveTraced()
	accepted := func(tokens []string) int { return l.do("POST", "/v1/feedback", itemsBody(tokens...)).accepted() }
	l.apply(toyOf("attribution_window: 1h\n"))
	tokens := l.decide("early", 50)
	if n := accepted(l.decide("before", 50)); n != 50 {
		r.t.Fatalf("before the steps %d of 50 were accepted", n)
	}
	said := map[bool]string{true: "reported", false: "silent"}
	reported := func() bool {
		return strings.Contains(strings.Join(l.report().Health.Problems, " "), "clock")
	}
	p.ahead.Store(-2 * hour)
	back, first := accepted(tokens), reported()
	p.ahead.Store(21 * hour)
	accepted(l.decide("ahead", 50))
	second := reported()
	p.ahead.Store(0)
	again := accepted(l.decide("late", 50))
	return found(back == 50 && again == 50 && first && second, "%d, %s; %d, %s",
		back, said[first], again, said[second])
}
