package faults

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// tool runs a program.
func tool(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func ip(args ...string) error { return tool("ip", args...) }

// wire makes the network namespaces of the machines, and a bridge between them and this process.
func (c *cluster) wire() error {
	const list = "/run/netns" // of the names, which others need not see
	if err := os.MkdirAll(list, 0o700); err != nil {
		return err
	}
	// Nothing gets out, but all processes of the machines see what is mounted here, and no longer.
	for _, mount := range [][]string{
		{"--make-rprivate", "/"}, {"--make-rshared", "/"}, {"-t", "tmpfs", "names", list},
	} {
		if err := tool("mount", mount...); err != nil {
			return err
		}
	}
	steps := [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", "bridge", "type", "bridge"},
		{"addr", "add", "10.77.0.254/24", "dev", "bridge"},
		{"link", "set", "bridge", "up"},
	}
	for _, m := range c.machines {
		link := "to" + m.space
		steps = append(steps, [][]string{
			{"netns", "add", m.space},
			{"link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", m.space},
			{"link", "set", link, "master", "bridge", "up"},
			{"-n", m.space, "addr", "add", m.host + "/24", "dev", "eth0"},
			{"-n", m.space, "link", "set", "eth0", "up"},
			{"-n", m.space, "link", "set", "lo", "up"},
		}...)
	}
	for _, s := range steps {
		if err := ip(s...); err != nil {
			return err
		}
	}
	return nil
}

// nobody is the address of no interface.
const nobody = "02:00:00:00:00:99"

// cut loses everything that one machine sends to another one, in silence: it goes to the hardware
// address of nobody.
func (c *cluster) cut(from, to int) error {
	return ip("-n", c.machines[from].space, "neigh", "replace", c.machines[to].host, "lladdr", nobody,
		"nud", "permanent", "dev", "eth0")
}

// mend ends what cut does.
func (c *cluster) mend(from, to int) error {
	return ip("-n", c.machines[from].space, "neigh", "del", c.machines[to].host, "dev", "eth0")
}

// link sets the link of a machine up or down.
func (c *cluster) link(i int, state string) error {
	return ip("link", "set", "to"+c.machines[i].space, state)
}
