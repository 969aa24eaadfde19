//go:build !linux

package faults

import (
	"context"
	"errors"
	"io"
	"syscall"
)

var errLinux = errors.New("faults are brought about on Linux only")

func endsWithUs() *syscall.SysProcAttr { return nil }

func (p *process) pause() error { return errLinux }

func (p *process) resume() error { return errLinux }

func (c *cluster) wire() error { return errLinux }

func (c *cluster) cut(_, _ int) error { return errLinux }

func (c *cluster) mend(_, _ int) error { return errLinux }

func (c *cluster) link(_ int, _ string) error { return errLinux }

func (m *machine) mount() error { return errLinux }

func (m *machine) fill() error { return errLinux }

func (m *machine) losePower() error { return errLinux }

func (m *machine) unmount() error { return errLinux }

func isolate(_ context.Context, _ string, _ []string, _, _ io.Writer) (bool, error) {
	return false, nil
}
