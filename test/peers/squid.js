// SPDX-License-Identifier: Apache-2.0
//
// flying-squid, a server with a real world that is not ours, on a port of its
// choice: its own program takes no port. It prints what it sees, one JSON object
// per line, and ends on SIGTERM.
//
//   SERVER_IP=127.0.0.1 VERSION=1.21.4 node squid.js

'use strict'

const squid = require('flying-squid')
const defaults = require('flying-squid/config/default-settings.json')

const { SERVER_PORT: port = '0', SERVER_IP: host, MAX_PLAYERS: maxPlayers = '10', VERSION: version = '1.21.4' } = process.env

function say (event, more) {
  console.log(JSON.stringify({ event, ...more }))
}

const server = squid.createMCServer({
  ...defaults,
  host,
  port: Number(port),
  version,
  'max-players': Number(maxPlayers),
  'online-mode': false,
  logging: false,
  // The world is in memory alone.
  worldFolder: undefined
})

server.on('ready', () => say('listening', { port: server._server.socketServer.address().port, version }))
server.on('newPlayer', player => {
  say('join', { username: player.username })
  player.on('disconnected', () => say('leave', { username: player.username }))
})
server.on('error', e => say('error', { message: e.message }))
process.on('SIGTERM', () => process.exit())
