import { describe, expect, it } from 'vitest'
import { Tasks } from '../../../src/bulk/logs/tasks.ts'

describe('tasks', () => {
  it('run at the same time, up to a number of them', async () => {
    const tasks = new Tasks(3)
    const ends: (() => void)[] = []
    const task = () => new Promise<void>((resolve) => ends.push(resolve))
    for (let i = 0; i < 3; i++) await tasks.add(task)
    const fourth = tasks.add(task)
    expect(ends).toHaveLength(3)
    ends[1]?.()
    await fourth
    expect(ends).toHaveLength(4)
    for (const end of ends) end()
    await tasks.end()
  })

  it('that fail while nothing waits for them reject what comes next', async () => {
    const tasks = new Tasks(3)
    const reason = new Error('one of them')
    await tasks.add(() => new Promise(() => {}))
    await tasks.add(() => Promise.reject(reason))
    // A rejection without a handler would be reported now, and end the process.
    await new Promise((resolve) => setImmediate(resolve))
    await expect(tasks.add(async () => {})).rejects.toBe(reason)
    await expect(tasks.end()).rejects.toBe(reason)
  })
})
