package faults

import (
	"fmt"
	"os/exec"
	"strings"
)

// ip runs the program ip.
func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// wire makes the network namespaces of the machines, and a bridge between them and this process.
func (c *cluster) wire() error {
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
