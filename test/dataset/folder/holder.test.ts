import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { holderOf, isAlive, isHere, processOf, thisProcess } from '../../../src/dataset/folder/holder.ts'

describe('a process that holds a folder', () => {
  it('is alive while it runs, and is read back from what was written', async () => {
    const mine = await thisProcess()
    expect(await isAlive(mine)).toBe(true)
    expect(holderOf(JSON.stringify(mine))).toEqual(mine)
    expect(await processOf(mine, '/data/lock')).toBe(`this process (${process.pid})`)
  })

  it('is dead where it was killed, also before its parent asks how it ended', async () => {
    // A shell may ask after each of its commands. `cat` never does, and it has taken the shell's
    // place as soon as it answers.
    const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    parent.stdin.write('ready\n')
    let said = ''
    for await (const text of parent.stdout.setEncoding('utf8')) {
      said += text
      if (said.includes('ready')) break
    }
    const pid = Number.parseInt(said, 10)
    process.kill(pid, 'SIGKILL')
    const zombie = { ...(await thisProcess()), pid, start: null }
    await expect.poll(() => isAlive(zombie)).toBe(false)
    expect(() => process.kill(pid, 0)).not.toThrow()
  })

  it('is dead if another process has its number by now', async () => {
    const mine = await thisProcess()
    expect(await isAlive({ ...mine, start: 'another boot 17' })).toBe(mine.start === null)
  })

  it.each([
    ['of another machine', { host: 'elsewhere' }, 'on "elsewhere"'],
    // Its number says nothing here: two containers may share a host name.
    ['in another container', { namespace: 'pid:[1]' }, 'in another container'],
  ])('%s counts as alive, whatever runs here under its number', async (_, other, where) => {
    const holder = { ...(await thisProcess()), pid: 4_194_304, ...other }
    expect([await isHere(holder), await isAlive(holder)]).toEqual([false, true])
    expect(await processOf(holder, '/data/lock')).toBe(`process 4194304 ${where}; if it no longer runs, delete /data/lock`)
  })

  it('is here where an earlier version has written it, without a namespace', async () => {
    expect(await isHere({ pid: 1, host: hostname(), start: null, id: 'a' })).toBe(true)
  })

  it.each(['', '{', '{"pid":"1","host":"a"}', '{"pid":1}', 'null'])('is unknown from %j', (text) => {
    expect(holderOf(text)).toBeUndefined()
  })
})
