// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"sync"

	"github.com/google/uuid"
)

// maxQuestions bounds the questions that wait for a client's answer. A client
// answers all of them; the oldest of too many is forgotten, and its answer
// then goes to nobody.
const maxQuestions = 256

// topic is a kind of question that a client answers.
type topic int

const (
	topicKeepAlive topic = iota
	topicPing
	topicCookie
	topicPack
	topicKnownPacks
	topicFinish
	topicConfiguration
)

// question is what the client was asked: the topic, and what tells two of one
// topic apart.
type question struct {
	topic  topic
	number int64     // of keep-alives and pings
	key    string    // of cookies
	pack   uuid.UUID // of resource packs
}

// asker is whom an answer belongs to. The zero value is the proxy itself,
// which only wants it kept from everybody else.
type asker struct {
	link  *link
	reply chan<- []byte // with room for one; for questions of the proxy
}

// questions remembers who asked the client what, because servers disconnect a
// client over an answer that they did not ask for. Equal questions are
// answered in the order in which they were asked.
type questions struct {
	mu   sync.Mutex
	open []openQuestion
}

type openQuestion struct {
	question
	asker asker
}

// ask records a question. It must be recorded before it is written.
func (q *questions) ask(what question, who asker) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.open) == maxQuestions {
		q.open = slices.Delete(q.open, 0, 1)
	}
	q.open = append(q.open, openQuestion{question: what, asker: who})
}

// settle returns who asked, and forgets the question; false when nobody did.
func (q *questions) settle(what question) (asker, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(what)
	if i < 0 {
		return asker{}, false
	}
	who := q.open[i].asker
	q.open = slices.Delete(q.open, i, i+1)
	return who, true
}

// peek returns who asked and goes on waiting, for answers that come in parts.
func (q *questions) peek(what question) (asker, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(what)
	if i < 0 {
		return asker{}, false
	}
	return q.open[i].asker, true
}

func (q *questions) find(what question) int {
	return slices.IndexFunc(q.open, func(o openQuestion) bool { return o.question == what })
}
