package dataset

import "slices"

// Nulls says why rows of [Options.OnlyLabels] have no class, with [Options.CountNulls]. It is as
// secret as the data: for the eyes of an operator who prepares a private training, and for no
// release.
type Nulls struct {
	// Bad are lines that break a rule, and First is the error of the first of them.
	Bad   int64
	First error
	// Blank are blank lines and comments.
	Blank int64
	// Labels are the first labels that are not declared, quoted. They may be of bad lines.
	Labels []string
}

// maxOtherLabels bounds the number of labels in Nulls.
const maxOtherLabels = 10

// label notes a label that is not declared.
func (n *Nulls) label(name string) {
	if n != nil && len(n.Labels) < maxOtherLabels && !slices.Contains(n.Labels, name) {
		n.Labels = append(n.Labels, name)
	}
}

// newNulls returns the counts of a chunk, nil if they are not wanted.
func (opt *Options) newNulls() *Nulls {
	if !opt.CountNulls {
		return nil
	}
	return new(Nulls)
}

// bad counts a bad line, of which why makes the error.
func (n *Nulls) bad(why func() error) {
	if n == nil {
		return
	}
	if n.Bad++; n.First == nil {
		n.First = why()
	}
}

// blank counts a line that is blank or a comment.
func (n *Nulls) blank() {
	if n != nil {
		n.Blank++
	}
}

// add adds what comes after it.
func (n *Nulls) add(m *Nulls) {
	if m == nil {
		return
	}
	if n.First == nil {
		n.First = m.First
	}
	n.Bad += m.Bad
	n.Blank += m.Blank
	for _, l := range m.Labels {
		n.label(l)
	}
}

// Nulls returns why the rows so far have no class.
func (s *Stream) Nulls() Nulls {
	out := s.nulls
	out.Labels = slices.Clone(out.Labels)
	return out
}
