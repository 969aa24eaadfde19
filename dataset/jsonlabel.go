package dataset

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/noregret/noregret"
)

// findLabel finds the key of the label in the first rows where no option names it, by the rule of
// CSV: nested keys are none of them. The key that is first in usualLabels ends the search. Without
// any the key stays the default, and rows have no label.
func (p *jsonPlanner) findLabel(file string, head []byte, partial bool) error {
	keys, err := firstKeys(head, partial)
	if err != nil {
		return err
	}
	p.opt.keys = keys
	if p.opt.asked.labelKey == "" {
		name := usualLabel(keys)
		if p.opt.unlabeled = name == "" && keys != nil; name != "" {
			p.opt.LabelKey = name
		}
	}
	for _, role := range []struct {
		keys []string
		is   string
	}{
		{[]string{p.opt.WeightKey}, "weight"},
		{p.opt.Categorical, "categorical"},
		{p.opt.TextColumns, "text"},
		{p.opt.IgnoreColumns, "ignored"},
	} {
		if slices.Contains(role.keys, p.opt.LabelKey) {
			return noregret.BadInputf(file, "key %q cannot be both label and %s (--label-key names another label)",
				p.opt.LabelKey, role.is)
		}
	}
	return nil
}

// firstKeys returns the keys of the first rows in order of first appearance, of a row with a fault
// those before it. It stops at the key that is surely that of the label.
func firstKeys(head []byte, partial bool) (keys []string, err error) {
	seen := map[string]bool{}
	for rows := 0; rows < lookRows; {
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		if !ended && partial {
			return nil, errPlanLater
		}
		for _, key := range topKeys(line) {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
		if strings.EqualFold(usualLabel(keys), usualLabels[0]) {
			break
		}
		if len(bytes.TrimSpace(line)) > 0 {
			rows++
		}
		if head = rest; !ended {
			break
		}
	}
	return keys, nil
}

// topKeys returns the keys of the object on a line, those before the first fault.
func topKeys(line []byte) (keys []string) {
	s := jsonScanner{data: line}
	if s.space(); s.peek() != '{' {
		return nil
	}
	for s.peek() == '{' || s.peek() == ',' {
		s.at++
		s.space()
		key, err := s.text()
		if err != nil {
			return keys
		}
		name := string(key)
		if s.space(); s.peek() != ':' {
			return keys
		}
		s.at++
		if s.space(); s.skipValue(0) != nil {
			return keys
		}
		keys = append(keys, name)
		s.space()
	}
	return keys
}

// noLabel is the error of a row of JSON lines without a label.
func (opt *Options) noLabel() error {
	if !opt.unlabeled {
		return fmt.Errorf("the row has no label (key %q; --label-key names another)", opt.LabelKey)
	}
	return fmt.Errorf("the row has no label: no key of the first rows is named label, target, class or y "+
		"(--label-key names another); their keys are %s", listNames(opt.keys))
}
