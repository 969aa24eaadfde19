package jetstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
)

// The bucket of snapshots lets a node begin that has none of its own. The node that appends puts
// its snapshots there, as the files that they are; their names begin with the version of their
// format.
const (
	objectPrefix = snapshotMagic + "-"
	storedKey    = "snapshots"      // of the nodes' bucket
	objectTime   = 10 * time.Minute // for one snapshot to be copied
)

func objectName(position uint64) string { return fmt.Sprintf("%s%020d", objectPrefix, position) }

// stored is the value of the key that lists the snapshots in the bucket.
type stored struct {
	Positions []uint64 `json:"positions"` // in their order
}

// objects finds the bucket of snapshots, or makes it.
func (l *Log) objects(ctx context.Context) (js.ObjectStore, error) {
	name := l.o.Stream + "-snapshots"
	bucket, err := l.wire.js.ObjectStore(ctx, name)
	if errors.Is(err, js.ErrBucketNotFound) {
		bucket, err = l.wire.js.CreateObjectStore(ctx, js.ObjectStoreConfig{
			Bucket: name, Replicas: l.o.Replicas, Storage: js.FileStorage,
			Description: "the snapshots of a noregret service",
		})
	}
	if err != nil {
		return nil, l.errorf(noregret.Internal, "the bucket of snapshots: %w", err)
	}
	return bucket, nil
}

// upload puts a snapshot of this node to the bucket and removes the oldest ones there. It reads
// back what it has put before it notes it, because events are dropped on the strength of it.
func (l *Log) upload(ctx context.Context, position uint64) error {
	var now stored
	revision, err := l.keys.get(ctx, storedKey, &now)
	if err != nil || slices.Contains(now.Positions, position) {
		return err
	}
	f, err := os.Open(l.snapshotFile(position))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.copyTime(info.Size()))
	defer cancel()
	bucket, err := l.objects(ctx)
	if err != nil {
		return err
	}
	if _, err := bucket.Put(ctx, js.ObjectMeta{Name: objectName(position)}, f); err != nil {
		return err
	}
	if err := l.fetchObject(ctx, bucket, position, io.Discard); err != nil {
		return err
	}
	now.Positions = append(now.Positions, position)
	slices.Sort(now.Positions)
	drop := max(0, len(now.Positions)-l.events.KeepSnapshots)
	old := now.Positions[:drop]
	now.Positions = now.Positions[drop:]
	if err := l.keys.put(ctx, storedKey, now, revision); err != nil {
		return err
	}
	for _, p := range old {
		_ = bucket.Delete(ctx, objectName(p)) // an extra snapshot is harmless
	}
	return nil
}

// copyTime bounds the time for a snapshot of so many bytes to be copied: servers without a majority
// do not answer, and a service that ends saves a snapshot before.
func (l *Log) copyTime(size int64) time.Duration {
	return 10*l.o.Timeout + time.Duration(size>>20)*time.Second
}

// fetchObject copies a snapshot from the bucket and checks its bytes. It reads them as the log's
// messages are read: a consumer, which the bucket's own method makes, may begin on a server that is
// about to copy the bucket itself, and then stands still for long.
func (l *Log) fetchObject(ctx context.Context, bucket js.ObjectStore, position uint64, to io.Writer) error {
	var info *js.ObjectInfo
	if err := l.insist(ctx, func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
		defer cancel()
		info, err = bucket.GetInfo(ctx, objectName(position))
		return err
	}); err != nil {
		return err
	}
	sum := sha256.New()
	which := map[string]any{
		"next_by_subj": "$O." + info.Bucket + ".C." + info.NUID, "batch": fetchMost, "max_bytes": fetchSize,
	}
	for chunks, next := uint32(0), uint64(1); chunks < info.Chunks; {
		which["seq"] = next
		var raws []raw
		if err := l.insist(ctx, func() (err error) {
			raws, err = l.wire.direct(ctx, "OBJ_"+info.Bucket, which)
			if err == nil && len(raws) == 0 { // a replica that is behind
				err = js.ErrObjectNotFound
			}
			return err
		}); err != nil {
			return err
		}
		for _, r := range raws {
			if _, err := io.MultiWriter(to, sum).Write(r.data); err != nil {
				return err
			}
			chunks, next = chunks+1, r.sequence+1
		}
	}
	if got := js.GetObjectDigestValue(sum); got != info.Digest {
		return l.damaged("the snapshot %s of the bucket has the digest %s: want %s", objectName(position), got,
			info.Digest)
	}
	return nil
}

// insist makes attempts until one succeeds, for as long as the patience lasts.
func (l *Log) insist(ctx context.Context, attempt func() error) error {
	t := l.tries(ctx)
	defer t.stop()
	for {
		err := attempt()
		if err == nil || !t.again() {
			return err
		}
	}
}

// download copies the newest snapshot that the bucket has to this node, if it has none from which
// it could begin. A snapshot that covers more than the log says that the log has lost its end.
func (l *Log) download(ctx context.Context) error {
	if n := len(l.snapshots); n > 0 && l.snapshots[n-1] >= l.base.position {
		return nil
	}
	list, err := l.listed(ctx)
	if err != nil || len(list.Positions) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, objectTime)
	defer cancel()
	var bucket js.ObjectStore
	if err := l.insist(ctx, func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
		defer cancel()
		bucket, err = l.objects(ctx)
		return err
	}); err != nil {
		return err
	}
	for _, p := range slices.Backward(list.Positions) {
		if p > l.last.position {
			return l.lost("it ends at position %d, but a snapshot in its bucket covers %d", l.last.position, p)
		}
		if p < l.base.position {
			break
		}
		err := atomicfile.Write(l.snapshotFile(p), func(w io.Writer) error {
			return l.fetchObject(ctx, bucket, p, w)
		})
		if err != nil {
			return l.errorf(noregret.Internal, "the snapshot %s of the bucket: %w", objectName(p), err)
		}
		saved, _, problem, err := l.readSnapshot(p)
		if err != nil {
			return err
		}
		if problem == "" {
			l.snapshots = []uint64{p}
			return saved.Close()
		}
		if l.events.Skipped != nil {
			l.events.Skipped(l.snapshotFile(p), "from the bucket: "+problem)
		}
		if err := os.Remove(l.snapshotFile(p)); err != nil {
			return err
		}
	}
	return nil
}

// listed returns which snapshots the bucket has. Where events were dropped there is one that covers
// them, so that a replica that knows of none is behind, and is asked again. Only a log that Create
// has begun may have none yet.
func (l *Log) listed(ctx context.Context) (list stored, err error) {
	behind := errors.New("the list of the snapshots in the bucket is behind")
	err = l.insist(ctx, func() error {
		list = stored{}
		if _, err := l.keys.get(ctx, storedKey, &list); err != nil {
			return err
		}
		n := len(list.Positions)
		if l.begins == 0 && l.base.position > 0 && (n == 0 || list.Positions[n-1] < l.base.position) {
			return behind
		}
		return nil
	})
	if errors.Is(err, behind) {
		err = nil
	}
	return list, err
}

// cover sees to it that the bucket has a snapshot of what is to be dropped.
func (l *Log) cover(ctx context.Context, upTo, latest uint64) error {
	var list stored
	_, err := l.keys.get(ctx, storedKey, &list)
	if n := len(list.Positions); err != nil || n > 0 && list.Positions[n-1] >= upTo {
		return err
	}
	l.snapMu.Lock()
	defer l.snapMu.Unlock()
	if err := l.upload(ctx, latest); err != nil {
		return l.errorf(noregret.Internal, "copying a snapshot to its bucket: %w", err)
	}
	return nil
}
