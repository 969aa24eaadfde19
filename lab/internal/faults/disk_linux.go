package faults

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// diskBytes is the size of a disk.
const diskBytes = 1 << 30

// mount gives the server a disk of its own, the one that it had if there is one.
func (m *machine) mount() error {
	image := m.disk() + ".ext4"
	if _, err := os.Stat(image); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(image, nil, 0o600); err != nil {
			return err
		}
		if err := os.Truncate(image, diskBytes); err != nil {
			return err
		}
		if err := tool("mkfs.ext4", "-q", "-F", "-m", "0", image); err != nil {
			return err
		}
	}
	return tool("mount", "-o", "loop", image, m.disk())
}

// fill takes all the room of the disk.
func (m *machine) fill() error {
	f, err := os.Create(m.ballast())
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	for size, at := int64(64<<20), int64(0); size >= 4096; {
		if err := syscall.Fallocate(int(f.Fd()), 0, at, size); err == nil {
			at += size
		} else if errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else {
			return fmt.Errorf("filling %s: %w", m.disk(), err)
		}
	}
	return nil
}

// losePower ends all writing to the disk as a loss of the power does: what was not flushed is gone.
func (m *machine) losePower() error {
	f, err := os.Open(m.disk())
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing can be written any more
	const shutdown, withoutFlush = 0x8004587d, 2
	how := uint32(withoutFlush)
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); e != 0 {
		return fmt.Errorf("shutting down %s: %w", m.disk(), e)
	}
	return nil
}

// unmount takes the disk away. No process may use it.
func (m *machine) unmount() error { return tool("umount", m.disk()) }
