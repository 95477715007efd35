// SPDX-License-Identifier: Apache-2.0
//
// A Minecraft client that is not ours. It joins and prints what it sees, one
// JSON object per line; lines of its input are commands (/...), questions for
// suggestions (tab /...), quit, or chat.
//
//   node client.js HOST PORT VERSION NAME
//
// In online mode it needs SESSION_SERVER, ACCESS_TOKEN and PROFILE_ID in its
// environment.

'use strict'

const readline = require('readline')
const mc = require('minecraft-protocol')
const { plain } = require('./text')

const [host, port, version, username] = process.argv.slice(2)
const { SESSION_SERVER: sessionServer, ACCESS_TOKEN: accessToken, PROFILE_ID: id } = process.env

const began = Date.now()
function say (event, more) {
  console.log(JSON.stringify({ event, after: Date.now() - began, ...more }))
}

// online logs in with an account that needs no service but the session server.
function online (client, options) {
  client.session = { accessToken, selectedProfile: { id, name: username } }
  client.username = username
  options.accessToken = accessToken
  options.haveCredentials = true
  options.connect(client)
}

const client = mc.createClient({
  host,
  port: Number(port),
  version,
  username,
  hideErrors: true,
  ...(accessToken ? { sessionServer, auth: online } : { auth: 'offline' })
})

const LOADED = 0
const ACCEPTED = 3
const DOWNLOADED = 4

client.on('state', state => say('state', { state }))
client.on('login', () => say('login', { uuid: client.uuid, username: client.username }))
client.on('start_configuration', () => say('start_configuration'))
client.on('system_chat', p => say('chat', { text: plain(p.content), overlay: Boolean(p.isActionBar) }))
client.on('disconnect', p => say('disconnect', { reason: plain(p.reason) }))
client.on('kick_disconnect', p => say('disconnect', { reason: plain(p.reason) }))
client.on('registry_data', p => say('registry', { id: p.id, entries: p.entries?.length }))
client.on('tags', () => say('tags'))
client.on('declare_commands', p => {
  const root = p.nodes[p.rootIndex]
  say('commands', { names: root.children.map(i => p.nodes[i].extraNodeData?.name) })
})
client.on('tab_complete', p => say('suggestions', { matches: p.matches.map(m => m.match) }))
client.on('position', p => client.write('teleport_confirm', { teleportId: p.teleportId }))

// What the game's client answers and the library does not.
client.on('cookie_request', p => client.write('cookie_response', { key: p.cookie ?? p.key }))
client.on('ping', p => client.write('pong', { id: p.id }))
client.on('add_resource_pack', p => {
  say('pack', { url: p.url })
  for (const result of [ACCEPTED, DOWNLOADED, LOADED]) client.write('resource_pack_receive', { uuid: p.uuid, result })
})

client.on('error', e => say('error', { message: e.message }))
client.on('end', reason => {
  say('end', { reason: plain(reason) })
  process.exit()
})

// Whoever gives the input may be killed: then nobody plays on.
const input = readline.createInterface({ input: process.stdin })
input.on('close', () => client.end('the input ended'))
input.on('line', line => {
  if (line === 'quit') client.end('quit')
  else if (line.startsWith('tab ')) client.write('tab_complete', { transactionId: 1, text: line.slice(4) })
  else if (line.startsWith('/')) client.write('chat_command', { command: line.slice(1) })
  else client.chat(line)
})
