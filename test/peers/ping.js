// SPDX-License-Identifier: Apache-2.0
//
// A server list that is not ours. It asks once and prints what it would show, as
// one JSON object.
//
//   node ping.js HOST PORT VERSION

'use strict'

const mc = require('minecraft-protocol')
const { plain } = require('./text')

const [host, port, version] = process.argv.slice(2)

mc.ping({ host, port: Number(port), version }).then(
  list => console.log(JSON.stringify({
    event: 'list',
    text: plain(list.description),
    favicon: list.favicon ?? '',
    protocol: list.version.protocol,
    max: list.players.max
  })),
  e => console.log(JSON.stringify({ event: 'error', message: e.message }))
)
