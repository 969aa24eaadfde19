package kafka

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/noregret/noregret"
)

// The times that stand for the first message and for the end in a request for offsets.
const (
	atEnd   = -1
	atStart = -2
)

// begin checks the position that is given, and takes the partitions' beginnings without one.
func (c *copier) begin(ctx context.Context) error {
	n, err := c.count(ctx)
	if err != nil {
		return err
	}
	if len(c.opt.From) > n {
		return noregret.BadInputf(c.place, "the topic has %d partitions, and the position is one in %d: it is another "+
			"topic of the same name", n, len(c.opt.From))
	}
	for p, from := range c.opt.From {
		if from < 0 {
			return noregret.BadInputf(c.place, "the position in partition %d is %d, and messages are numbered from 0",
				p, from)
		}
	}
	if err := c.add(ctx, n); err != nil {
		return err
	}
	c.saved = slices.Clone(c.opt.From)
	return nil
}

// ends asks for the partitions and where each ends.
func (c *copier) ends(ctx context.Context) error {
	n, err := c.count(ctx)
	if err != nil {
		return err
	}
	if n < len(c.parts) {
		return noregret.BadInputf(c.place, "the topic has %d partitions, and had %d before: it is another topic of "+
			"the same name", n, len(c.parts))
	}
	if err := c.add(ctx, n); err != nil {
		return err
	}
	ends, err := c.offsets(ctx, atEnd, n)
	if err != nil {
		return err
	}
	for i := range c.parts {
		p := &c.parts[i]
		if p.next > ends[i] {
			return noregret.BadInputf(c.place, "partition %d ends before message %d, and the position is %d: it is "+
				"another topic of the same name", i, ends[i], p.next)
		}
		p.end = ends[i]
	}
	return nil
}

// add makes the partitions n at least, and begins to read the new ones.
func (c *copier) add(ctx context.Context, n int) error {
	if n == len(c.parts) {
		return nil
	}
	starts, err := c.offsets(ctx, atStart, n)
	if err != nil {
		return err
	}
	read := map[int32]kgo.Offset{}
	for i := len(c.parts); i < n; i++ {
		p := partition{next: starts[i]}
		if i < len(c.opt.From) {
			p.next = c.opt.From[i]
		}
		if p.next < starts[i] {
			return noregret.BadInputf(c.place, "the messages %d to %d of partition %d are no longer in the topic: "+
				"remove the position to begin with the first that are there", p.next, starts[i]-1, i)
		}
		read[int32(i)] = kgo.NewOffset().At(p.next)
		c.parts = append(c.parts, p)
	}
	c.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{c.topic: read})
	return nil
}

// count returns the number of partitions of the topic.
func (c *copier) count(ctx context.Context) (int, error) {
	ask, cancel := context.WithTimeout(ctx, 2*answerIn)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(c.topic)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ask, c.client)
	if err == nil && len(resp.Topics) != 1 {
		err = errors.New("a broker answers another question")
	}
	if err != nil {
		return 0, c.failed(ctx, err)
	}
	err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return 0, noregret.Errorf(noregret.NotFound, c.place, "there is no such topic")
	}
	if err != nil {
		return 0, c.failed(ctx, err)
	}
	return len(resp.Topics[0].Partitions), nil
}

// offsets returns the number of the first message, or that after the last one, of each partition.
func (c *copier) offsets(ctx context.Context, at int64, n int) ([]int64, error) {
	ask, cancel := context.WithTimeout(ctx, 2*answerIn)
	defer cancel()
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = 1 // messages of open transactions are after the end
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = c.topic
	for p := range n {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = int32(p), at
		topic.Partitions = append(topic.Partitions, part)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ask, c.client)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	offsets := slices.Repeat([]int64{-1}, n)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, c.failed(ctx, err)
			}
			if t.Topic == c.topic && int(p.Partition) < n {
				offsets[p.Partition] = p.Offset
			}
		}
	}
	if p := slices.Index(offsets, -1); p >= 0 {
		return nil, noregret.Errorf(noregret.Internal, c.place, "no broker knows the offsets of partition %d", p)
	}
	return offsets, nil
}
