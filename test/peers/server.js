// SPDX-License-Identifier: Apache-2.0
//
// A Minecraft server that is not ours, behind Velocity forwarding when it is
// given a secret. It takes its settings from the variables that server images
// document, so that it can be a group's image:
//
//   SERVER_PORT (25565), SERVER_IP, MAX_PLAYERS (20), VERSION (1.21.4),
//   PAPER_VELOCITY_SECRET, a file FORWARDING_SECRET_FILE, or the secret in
//   config/paper-global.yml
//
// It prints what it sees, one JSON object per line, and ends on SIGTERM.

'use strict'

const crypto = require('crypto')
const fs = require('fs')
const os = require('os')
const minecraftData = require('minecraft-data')
const mc = require('minecraft-protocol')
const nbt = require('prismarine-nbt')

const {
  SERVER_PORT: port = '25565', SERVER_IP: host, MAX_PLAYERS: maxPlayers = '20', VERSION: version = '1.21.4'
} = process.env
const name = process.env.SERVER_NAME || os.hostname()
const secret = process.env.PAPER_VELOCITY_SECRET || secretOfFile(process.env.FORWARDING_SECRET_FILE) || secretOfPaper()

function secretOfFile (file) {
  return file && fs.readFileSync(file, 'utf8')
}

function secretOfPaper () {
  try {
    const file = fs.readFileSync('config/paper-global.yml', 'utf8')
    const found = /^\s+secret:\s*(.+?)\s*$/m.exec(file)
    return found ? unquote(found[1]) : ''
  } catch {
    return ''
  }
}

function unquote (value) {
  if (value.startsWith('"')) return JSON.parse(value)
  if (value.startsWith("'")) return value.slice(1, -1).replaceAll("''", "'")
  return value
}

function say (event, more) {
  console.log(JSON.stringify({ event, server: name, ...more }))
}

// reader takes fields from the forwarded data.
function reader (data) {
  let at = 0
  const bytes = n => {
    if (at + n > data.length) throw new Error('forwarded data is too short')
    at += n
    return data.subarray(at - n, at)
  }
  const varint = () => {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const b = bytes(1)[0]
      value |= (b & 0x7f) << shift
      if ((b & 0x80) === 0) return value
    }
    throw new Error('varint is too long')
  }
  return { bytes, varint, string: () => bytes(varint()).toString('utf8') }
}

function verify (data) {
  if (!data || data.length < 32) throw new Error('This server requires you to connect with Velocity.')
  const body = data.subarray(32)
  const mac = crypto.createHmac('sha256', secret).update(body).digest()
  if (!crypto.timingSafeEqual(mac, data.subarray(0, 32))) throw new Error('Unable to verify player details')
  const r = reader(body)
  const layout = r.varint()
  if (layout < 1 || layout > 4) throw new Error(`forwarding layout ${layout}`)
  const address = r.string()
  const uuid = r.bytes(16).toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5')
  return { address, uuid, username: r.string() }
}

// askProxy puts the question for forwarding before the library's own login.
function askProxy (client) {
  const listeners = client.listeners('login_start')
  client.removeAllListeners('login_start')
  client.once('login_start', start => {
    client.once('login_plugin_response', answer => {
      try {
        client.forwarded = verify(answer.data)
      } catch (err) {
        say('refused', { username: start.username, message: err.message })
        client.end(err.message)
        return
      }
      say('forwarded', client.forwarded)
      for (const listener of listeners) listener.call(client, { ...start, username: client.forwarded.username })
    })
    client.write('login_plugin_request', { messageId: 1, channel: 'velocity:player_info', data: Buffer.from([4]) })
  })
}

const data = minecraftData(version)
const server = mc.createServer({
  host,
  port: Number(port),
  version,
  maxPlayers: Number(maxPlayers),
  motd: name,
  'online-mode': false,
  hideErrors: true,
  beforeLogin: client => { if (client.forwarded) client.uuid = client.forwarded.uuid }
})

function chat (client, text) {
  client.write('system_chat', { content: nbt.comp({ text: nbt.string(text) }), isActionBar: false })
}

server.on('connection', client => {
  client.on('error', e => say('error', { username: client.username, message: e.message }))
  if (secret) askProxy(client)
})

server.on('playerJoin', client => {
  say('join', { username: client.username, uuid: client.uuid, host: client.serverHost })
  client.on('end', reason => say('leave', { username: client.username, reason }))
  client.on('chat_command', p => {
    say('command', { username: client.username, command: p.command })
    chat(client, `You ran /${p.command}`)
  })
  client.write('login', { ...data.loginPacket, entityId: client.id })
  client.write('declare_commands', {
    nodes: [
      { flags: {}, children: [1] },
      { flags: { command_node_type: 1, has_command: 1 }, children: [], extraNodeData: { name: 'ping' } }
    ],
    rootIndex: 0
  })
  client.write('position', { teleportId: 1, x: 0, y: 64, z: 0, dx: 0, dy: 0, dz: 0, yaw: 0, pitch: 0, flags: data.version.version < 768 ? 0 : {} })
  chat(client, `Welcome to ${name}`)
})

server.on('error', e => {
  say('error', { message: e.message })
  process.exit(1)
})
server.on('listening', () => say('listening', { port: server.socketServer.address().port, version }))

function stop () {
  say('stopping')
  for (const client of Object.values(server.clients)) client.end('Server closed')
  server.socketServer.close()
  setTimeout(() => process.exit(), 100)
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
