package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// chunk is how many messages are read between two looks at who leads.
const chunk = 4096

// read reads the copy of a server.
func (v *verification) read(ctx context.Context, server string, copied []sums) error {
	for at := 0; at < len(copied); {
		if err := v.lead(ctx, server); err != nil {
			return err
		}
		if err := v.settled(ctx); err != nil {
			return err
		}
		end := min(at+chunk, len(copied))
		got, err := v.ownMessages(ctx, v.from+uint64(at), v.from+uint64(end))
		if err != nil {
			return err
		}
		info, err := v.peers(ctx)
		if err != nil {
			return err
		}
		if info.Cluster.Leader != server {
			continue // another server may have answered
		}
		v.note(copied, at, got)
		at = end
	}
	return nil
}

// note notes messages of a copy, from one on.
func (v *verification) note(copied []sums, at int, got []extract) {
	for i, e := range got {
		if !e.whole {
			continue
		}
		copied[at+i] = e.sums
		if k := &v.known[at+i]; k.position == 0 {
			*k = e.known
		}
	}
}

// ownMessages asks the leader for its messages from one on and before another one.
func (v *verification) ownMessages(ctx context.Context, from, to uint64) ([]extract, error) {
	out := make([]extract, to-from)
	done := make([]bool, len(out))
	t := v.tries(ctx)
	defer t.stop()
	for pending := v.pending; ; pending = 1 {
		err := v.askAll(ctx, from, out, done, pending)
		if err == nil {
			return out, nil
		}
		if !t.again() {
			return nil, err
		}
	}
}

// askAll asks for all messages that are not done, so many at the same time.
func (v *verification) askAll(ctx context.Context, from uint64, out []extract, done []bool, pending int) error {
	inbox := v.wire.conn.NewInbox()
	sub, err := v.wire.conn.SubscribeSync(inbox + ".*")
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return err
	}
	next, waiting := 0, 0
	for {
		for ; next < len(out) && waiting < pending; next++ {
			if done[next] {
				continue
			}
			request := fmt.Appendf(nil, `{"seq":%d}`, from+uint64(next))
			if err := v.wire.conn.PublishRequest(api+"STREAM.MSG.GET."+v.wire.stream, fmt.Sprint(inbox, ".", next),
				request); err != nil {
				return err
			}
			waiting++
		}
		if waiting == 0 {
			return nil
		}
		wait, cancel := context.WithTimeout(ctx, v.wire.timeout)
		reply, err := sub.NextMsgWithContext(wait)
		cancel()
		if err != nil {
			return err
		}
		i, err := strconv.Atoi(reply.Subject[strings.LastIndexByte(reply.Subject, '.')+1:])
		if err != nil || i < 0 || i >= len(out) || reply.Header.Get("Status") == "503" {
			return nats.ErrNoResponders
		}
		m, err := own(reply.Data, from+uint64(i))
		if err != nil {
			return err
		}
		out[i], done[i] = extractOf(m), true
		waiting--
	}
}

// own reads an answer of the leader. The message is nil if the leader does not have it whole.
func own(answer []byte, sequence uint64) (*message, error) {
	var a struct {
		Error   *js.APIError `json:"error"`
		Message *struct {
			Sequence uint64 `json:"seq"`
			Data     []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, err
	}
	if a.Error != nil && a.Error.ErrorCode != codeNoMessage {
		return nil, a.Error // it cannot answer now
	}
	if a.Message == nil || a.Message.Sequence != sequence {
		return nil, nil
	}
	m, err := decode(sequence, a.Message.Data)
	if err != nil {
		return nil, nil
	}
	return m, nil
}
