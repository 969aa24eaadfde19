package bandit

import (
	"fmt"
	"slices"

	"github.com/noregret/noregret/internal/snapshot"
)

const delayedMagic = "noregret-bandit-delayed-2\n"

// String describes the player and its window in one line.
func (d *Delayed) String() string {
	return fmt.Sprintf("delayed(%v, window=%d)", d.player, d.options.Window)
}

// kind is the kind of snapshots. The player's snapshot names the player.
func (d *Delayed) kind() string { return fmt.Sprintf("delayed(window=%d)", d.options.Window) }

// MarshalBinary returns a snapshot with all pending choices: a Delayed with the same options and a
// player with the same options that restores it continues bit for bit. The number of arms may
// differ for players that can add arms.
func (d *Delayed) MarshalBinary() ([]byte, error) {
	s := d.s
	for i := range d.ring {
		if d.ring[i].ID != 0 {
			s.Pending = append(s.Pending, d.ring[i])
		}
	}
	slices.SortFunc(s.Pending, func(a, b pending) int { return int(int64(a.ID) - int64(b.ID)) })
	var err error
	if s.Player, err = d.player.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(delayedMagic, d.kind(), &s)
}

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or was taken with other options.
func (d *Delayed) UnmarshalBinary(data []byte) error {
	var s delayedState
	if err := snapshot.Open(data, delayedMagic, d.kind(), &s); err != nil {
		return err
	}
	total, err := d.checkState(&s)
	if err != nil {
		return err
	}
	player := d.player
	if n := len(s.Chosen); n != player.Arms() {
		if player = player.renewed(n); player == nil {
			return snapshot.Bad("%d arms, but this player has %d and cannot add any", n, d.Arms())
		}
	}
	if err := player.UnmarshalBinary(s.Player); err != nil {
		return err
	}
	d.player, d.total, d.cache.filled, d.ring = player, total, false, nil
	d.p = make([]float64, len(s.Chosen))
	d.s = delayedState{
		Chosen: s.Chosen, Retired: s.Retired, Learned: s.Learned, Lost: s.Lost, Replaced: s.Replaced, Mean: s.Mean,
	}
	d.retired = 0
	for _, r := range s.Retired {
		if r {
			d.retired++
		}
	}
	for _, p := range s.Pending {
		d.s.Next = p.ID // for place
		*d.place() = p
	}
	d.s.Next = s.Next
	return nil
}

// checkState returns Σ Chosen, or an error if the parts of a state do not fit.
func (d *Delayed) checkState(s *delayedState) (total int, err error) {
	n, last := len(s.Chosen), uint64(0)
	ok := n > 0 && n <= maxArms && len(s.Retired) == n && slices.Contains(s.Retired, false) && s.Next > 0
	ok = ok && finite([]float64{s.Mean}) && s.Replaced <= s.Lost && s.Learned <= s.Next && s.Lost <= s.Next-s.Learned
	for _, c := range s.Chosen {
		ok = ok && c >= 0 && uint64(c) <= s.Next-1-uint64(total)
		if ok {
			total += c
		}
	}
	for i := range s.Pending {
		p := &s.Pending[i]
		ok = ok && p.ID > last && p.ID < s.Next && s.Next-p.ID <= uint64(d.options.Window)
		ok = ok && p.Of.Arm >= 0 && p.Of.Arm < n && p.Of.Propensity >= 0 && p.Of.Propensity <= 1+1e-9
		ok = ok && d.fits(&p.Of, n)
		last = p.ID
	}
	if !ok || uint64(total) != s.Next-1 {
		return 0, snapshot.Bad("damaged: the parts do not fit %d arms", n)
	}
	return total, nil
}

// fits reports whether the player can learn from a draw among n arms.
func (d *Delayed) fits(c *drawn, n int) bool {
	if words := (n + 63) / 64; len(c.Allowed) > 0 && (len(c.Allowed) != words || !hasBit(c.Allowed, c.Arm)) {
		return false
	}
	p, own := d.player.(*Player)
	if !own {
		return len(c.Base) == 0
	}
	w, ok := p.plan.method.(*weights)
	if !ok {
		return len(c.Base) == 0 && len(c.Allowed) == 0
	}
	want := 0
	if n == p.Arms() {
		want = len(w.bases(w.p, 1))
	}
	return c.Propensity > 0 && len(c.Base) == want
}
