package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// without says what is left out, and why.
const without = "no namespaces (%v): the machines share the loopback address, and the faults of networks and disks " +
	"are skipped\n"

// isolate runs this program once more, in namespaces of its own for networks, mounts and
// processes, all of which end with it. It reports false, and writes why, if that cannot be done.
func isolate(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) (bool, error) {
	if os.Geteuid() != 0 {
		_, err := fmt.Fprintf(stderr, without, "this is not root")
		return false, err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), insideVariable+"="+dir)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	err := cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return true, fmt.Errorf("the process in namespaces of its own: %w", e)
	}
	if err != nil {
		_, err = fmt.Fprintf(stderr, without, err)
		return false, err
	}
	return true, nil
}
