// SPDX-License-Identifier: Apache-2.0
//
// A player of mineflayer, which needs a real world around it. It joins and
// prints what it sees, one JSON object per line; lines of its input are said in
// the chat, and quit.
//
//   node mineflayer.js HOST PORT VERSION NAME

'use strict'

const readline = require('readline')
const mineflayer = require('mineflayer')
const { plain } = require('./text')

const [host, port, version, username] = process.argv.slice(2)

function say (event, more) {
  console.log(JSON.stringify({ event, ...more }))
}

const bot = mineflayer.createBot({ host, port: Number(port), version, username, auth: 'offline', hideErrors: true })

// world says what is around the player, once it is loaded.
async function world () {
  await bot.waitForChunksToLoad()
  const below = bot.blockAt(bot.entity.position.offset(0, -1, 0))
  say('world', { text: below?.name ?? '', columns: bot.world.getColumns().length })
}

// Each login begins another world, and the first position puts the player there;
// the library's own spawn comes once only.
bot.on('login', () => {
  say('login', { username: bot.username })
  bot.once('forcedMove', () => world().catch(e => say('error', { message: e.message })))
})
bot.on('messagestr', text => say('chat', { text }))
bot.on('kicked', reason => say('disconnect', { reason: plain(reason) }))
bot.on('error', e => say('error', { message: e.message }))
bot.on('end', reason => {
  say('end', { reason })
  process.exit()
})

const input = readline.createInterface({ input: process.stdin })
input.on('close', () => bot.quit())
input.on('line', line => line === 'quit' ? bot.quit() : bot.chat(line))
