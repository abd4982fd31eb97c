/**
 * No operation may cost more than recorded here. Raise a figure only for a reason; lower it when the cost is lower. With
 * SHOW_STATEMENTS=1 the statements are printed.
 */
import { describe, expect, test } from 'vitest'

import { measureCosts, type Cost } from './operation-costs.ts'

const recorded: Record<string, Cost> = {
  createVideo: { statements: 7, writes: 7 },
  getVideo: { statements: 0, writes: 1 },
  listVideos: { statements: 1, writes: 1 },
  createSpeech: { statements: 7, writes: 10 },
}

/** Includes the loops of the worker, whose ticks depend on the time that a task takes. */
const life = { statements: 52, writes: 33, invocations: 11 }
const tolerance = 1.15

describe('the cost of operations', () => {
  test('is as recorded', async () => {
    const { 'life of a task': measuredLife, ...measured } = await measureCosts()
    console.log({ life: measuredLife, ...measured })
    expect(measured).toEqual(recorded)
    for (const [name, limit] of Object.entries(life))
      expect(measuredLife?.[name as keyof Cost], name).toBeLessThanOrEqual(limit * tolerance)
  })

  test('is higher if a request has one statement more', async () => {
    const mutation = {
      file: 'videos/api/list-videos.ts',
      find: `    const { accountId } = call.caller\n`,
      replace: `    const { accountId } = call.caller\n    await database.query('select 1 as planted')\n`,
    }
    const { listVideos } = await measureCosts({ mutation, operations: ['listVideos'] })
    expect(listVideos?.statements).toBe((recorded['listVideos']?.statements ?? 0) + 1)
  })
})
