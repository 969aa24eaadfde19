package server

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// assumedMemory is the memory of a machine that does not say how much it has.
const assumedMemory = 4 << 30

// machineMemory returns how many bytes of memory the process may use: the least of Go's limit
// (GOMEMLIMIT), the limits of the process's control group and of those above it, and the machine's
// memory.
func machineMemory() int64 {
	least := int64(math.MaxInt64)
	take := func(n int64, ok bool) {
		if ok && n > 0 {
			least = min(least, n)
		}
	}
	take(debug.SetMemoryLimit(-1), true)
	groups, _ := os.ReadFile("/proc/self/cgroup") // elsewhere than on Linux there is none
	for _, file := range memoryLimits(string(groups)) {
		b, err := os.ReadFile(file)
		n, bad := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" is no number
		take(n, err == nil && bad == nil)
	}
	b, err := os.ReadFile("/proc/meminfo")
	take(totalMemory(string(b)), err == nil)
	if least == math.MaxInt64 {
		return assumedMemory
	}
	return least
}

// memoryLimits returns the files with the limits of memory of the control groups in
// /proc/self/cgroup, and of the groups above them. In a container the groups may not be visible;
// its limit is then that of the topmost one that is.
func memoryLimits(groups string) (out []string) {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		switch {
		case slices.Contains(strings.Split(parts[1], ","), "memory"): // version 1
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case parts[1] != "":
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			out = append(out, path.Join(root, group, file))
			if group == "/" {
				break
			}
		}
	}
	return out
}

// totalMemory returns MemTotal of /proc/meminfo in bytes, 0 if it is missing.
func totalMemory(text string) int64 {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "MemTotal:")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil || n > math.MaxInt64>>10 {
			return 0
		}
		return n << 10
	}
	return 0
}
