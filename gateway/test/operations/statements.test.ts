import { randomUUID } from 'node:crypto'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Statement, StatementMonth, StatementWallet } from '@kinora/contract/operations/statements'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { insertAccount } from '../../src/auth/key-store.ts'
import { openWallet, postMovements } from '../../src/billing/ledger/ledger-store.ts'
import { addToStatementSums } from '../../src/billing/ledger/statement-sums-store.ts'
import type { MovementKind, Wallet } from '../../src/billing/money/money.ts'
import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import { ask, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

const logo = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

let gateway: TestGateway
let operator: Operator
let directory: Awaited<ReturnType<typeof mkdtempDisposable>>

beforeAll(async () => {
  directory = await mkdtempDisposable(join(tmpdir(), 'kinora-logo-'))
  const path = join(directory.path, 'logo.svg')
  await writeFile(path, logo)
  gateway = await startGateway({
    STATEMENT_NAME: 'Fish & Sons <Ltd>',
    STATEMENT_ADDRESS: '1 Harbour Road\\nAtlantis',
    STATEMENT_TAX_NUMBER: 'XX 123',
    STATEMENT_LOGO: path,
  })
  operator = await createOperator(gateway)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await directory.remove()
})

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Row>(text, values)).rows

interface Customer {
  accountId: string
  key: TestKey
}

/** An account that has existed for three years. */
const customer = async (name = 'Aquarium'): Promise<Customer> => {
  const { postgres } = gateway.database
  const accountId = uuidV7()
  await insertAccount(postgres, { id: accountId, name })
  await query(`update accounts set created_at = now() - interval '3 years' where id = $1`, [accountId])
  await openWallet(postgres, accountId, 'payg')
  await openWallet(postgres, accountId, 'subscription')
  return { accountId, key: await createKey(postgres, accountId, { scopes: ['account'] }) }
}

interface Moved {
  kind: MovementKind
  wallet: Wallet
  at: Date
  amountMicros: number
  model?: string
  /** In seconds. */
  quantity?: number
}

const dayOf = (at: Date) => at.toISOString().slice(0, 10)

const move = async (
  { accountId, key }: Customer,
  { kind, wallet, at, amountMicros }: Moved,
  task = { id: `mov_${randomUUID()}`, day: dayOf(at) },
) =>
  postMovements(
    gateway.database.postgres,
    [{ kind, wallet, accountId, amountMicros, taskId: task.id, day: task.day, keyId: key.id }],
    { at: at.toISOString() },
  )

/** A task that is held, and captured and released at its end, if it has one. */
const runTask = async (
  of: Customer,
  given: {
    wallet: Wallet
    model: string
    heldAt: Date
    holdMicros: number
    end?: { at: Date; capturedMicros: number; seconds: number }
  },
): Promise<{ id: string; moved: Moved[] }> => {
  const { wallet, model, heldAt, holdMicros, end } = given
  const task = { id: `req_${uuidV7(heldAt.getTime())}`, day: dayOf(heldAt) }
  const moved: Moved[] = [{ kind: 'hold', wallet, at: heldAt, amountMicros: holdMicros }]
  if (end !== undefined) {
    const { at, capturedMicros, seconds } = end
    if (capturedMicros > 0)
      moved.push({ kind: 'capture', wallet, at, amountMicros: capturedMicros, model, quantity: seconds })
    if (capturedMicros < holdMicros)
      moved.push({ kind: 'release', wallet, at, amountMicros: holdMicros - capturedMicros })
    const prices = [{ unit: 'second', unitMicros: 1, quantity: seconds, totalMicros: capturedMicros }]
    await query(
      `insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, prices)
       values ($1, $2, $3, $4, $5, $6, 'completed', $7, $8)`,
      [dayOf(at), ...[task.id, at, of.accountId, of.key.id, model, capturedMicros, JSON.stringify(prices)]],
    )
  }
  for (const each of moved) await move(of, each, task)
  return { id: task.id, moved }
}

const year = new Date().getUTCFullYear()
/** The last months of the year before and the first of this one. */
const months = [`${year - 1}-11`, `${year - 1}-12`, `${year}-01`]
const at = (month: string, rest: string) => new Date(`${month}-${rest}Z`)

const get = (month: string, { text }: TestKey, search = '') =>
  ask(`${gateway.url}/v1/statements/${month}${search}`, text)
const read = async (month: string, { key }: Customer): Promise<Statement> => {
  const { status, body } = await get(month, key)
  expect(status).toBe(200)
  return body as unknown as Statement
}
const textOf = async (month: string, { key }: Customer, format: string) => {
  const response = await fetch(`${gateway.url}/v1/statements/${month}?format=${format}`, {
    headers: { authorization: `Bearer ${key.text}` },
  })
  expect(response.status).toBe(200)
  return { headers: response.headers, text: await response.text() }
}
const walletOf = ({ wallets }: Statement, wallet: Wallet): StatementWallet => {
  const found = wallets.find((each) => each.wallet === wallet)
  if (found === undefined) throw new Error(`The statement has no wallet ${wallet}.`)
  return found
}

/** Numbers from 0 to 1 that are the same in each run. */
const createRandom = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const models = ['vidB-2', 'asr-1', 'vidA3.1']

/** Three months of everything in both wallets, in random order and amounts. */
const makeHistory = async (of: Customer, seed: number): Promise<Moved[]> => {
  const random = createRandom(seed)
  const upTo = (max: number) => 1 + Math.floor(random() * max)
  const starts = Date.UTC(year - 1, 10)
  const times = Array.from({ length: 90 }, () => starts + random() * (Date.UTC(year, 1) - starts))
  const moved: Moved[] = []
  const make = async (each: Moved) => {
    await move(of, each)
    moved.push(each)
  }
  for (const wallet of ['payg', 'subscription'] as const) {
    const kind = wallet === 'payg' ? 'top_up' : 'grant'
    await make({ kind, wallet, at: new Date(starts - 1), amountMicros: 900_000_000_007 })
  }
  for (const ms of times.toSorted((one, other) => one - other)) {
    const wallet = random() < 0.7 ? 'payg' : 'subscription'
    const when = new Date(ms)
    const kind = (['top_up', 'grant', 'adjustment', 'expiry', 'refund'] as const)[Math.floor(random() * 12)]
    if (kind !== undefined) {
      const sign = kind === 'adjustment' && random() < 0.5 ? -1 : 1
      await make({ kind, wallet, at: when, amountMicros: sign * upTo(5_000_000) })
      continue
    }
    const holdMicros = upTo(1_000_000)
    const capturedMicros = random() < 0.2 ? 0 : upTo(holdMicros)
    const end = {
      // Up to four days, so that some tasks end in a later month.
      ...{ at: new Date(ms + random() * 4 * 86_400_000), capturedMicros, seconds: upTo(20) / 4 },
    }
    const isOpen = random() < 0.1
    const model = models[Math.floor(random() * models.length)] ?? ''
    const task = await runTask(of, { wallet, model, heldAt: when, holdMicros, ...(!isOpen && { end }) })
    moved.push(...task.moved)
  }
  return moved
}

const signs: Partial<Record<MovementKind, number>> = {
  ...{ top_up: 1, grant: 1, adjustment: 1, refund: 1, expiry: -1, capture: -1 },
}
const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
const balanceOf = (moved: Moved[]) => sum(moved.map((each) => (signs[each.kind] ?? 0) * each.amountMicros))
const heldOf = (moved: Moved[]) =>
  sum(
    moved.map(({ kind, amountMicros }) =>
      kind === 'hold' ? amountMicros : kind === 'capture' || kind === 'release' ? -amountMicros : 0,
    ),
  )

/** The wallet of a statement, computed from the movements in the test. */
const expectedWallet = (all: Moved[], wallet: Wallet, month: string) => {
  const ofWallet = all.filter((each) => each.wallet === wallet)
  const monthOf = (each: Moved) => each.at.toISOString().slice(0, 7)
  const within = ofWallet.filter((each) => monthOf(each) === month)
  const made = (kind: MovementKind) => {
    const ofKind = within.filter((each) => each.kind === kind)
    return { count: ofKind.length, amount_micros: balanceOf(ofKind), currency: 'USD' }
  }
  const untilEnd = ofWallet.filter((each) => monthOf(each) <= month)
  return {
    ...{ wallet, currency: 'USD' },
    opening_balance_micros: balanceOf(ofWallet.filter((each) => monthOf(each) < month)),
    top_ups: made('top_up'),
    grants: made('grant'),
    refunds: made('refund'),
    adjustments: made('adjustment'),
    expiries: made('expiry'),
    charges: made('capture'),
    charges_by_model: [
      ...Map.groupBy(
        within.filter(({ kind }) => kind === 'capture'),
        ({ model }) => model,
      ),
    ]
      .map(([model, captures]) => ({
        ...{ model, count: captures.length, currency: 'USD' },
        quantities: [
          {
            ...{ unit: 'second', unit_size: 1 },
            quantity: String(sum(captures.map(({ quantity = 0 }) => quantity))),
          },
        ],
        amount_micros: sum(captures.map(({ amountMicros }) => amountMicros)),
      }))
      .toSorted((one, other) => other.amount_micros - one.amount_micros),
    closing_balance_micros: balanceOf(untilEnd),
    held_micros: heldOf(untilEnd),
  }
}

describe('200', () => {
  test.each([7, 2_026])(
    'the statements of a random history agree with its movements (seed %i)',
    async (seed) => {
      const of = await customer()
      const moved = await makeHistory(of, seed)
      for (const month of months) {
        const { wallets } = await read(month, of)
        expect(wallets).toEqual([
          expectedWallet(moved, 'payg', month),
          expectedWallet(moved, 'subscription', month),
        ])
        for (const wallet of wallets) {
          const { top_ups, grants, refunds, adjustments, expiries, charges } = wallet
          const all = [top_ups, grants, refunds, adjustments, expiries, charges]
          expect(wallet.opening_balance_micros + sum(all.map((each) => each.amount_micros))).toBe(
            wallet.closing_balance_micros,
          )
        }
      }
      const [balance] = await query<{ total: number }>(
        'select sum(available_micros + held_micros)::bigint as total from balances where account_id = $1',
        [of.accountId],
      )
      const now = await read(new Date().toISOString().slice(0, 7), of)
      expect(sum(now.wallets.map((wallet) => wallet.closing_balance_micros))).toBe(balance?.total)

      // What an archive does with the rows of closed years.
      const before = await Promise.all(months.map((month) => read(month, of)))
      const list = await ask(`${gateway.url}/v1/statements`, of.key.text)
      await gateway.database.postgres.transaction(async (database) => {
        await addToStatementSums(database, `${year}-01-01`)
        for (const table of ['ledger_entries', 'usage_entries'])
          await database.query(`delete from ${table} where day < $1`, [`${year}-01-01`])
      })
      const figures = (statements: Statement[]) => statements.map(({ wallets }) => wallets)
      expect(figures(await Promise.all(months.map((month) => read(month, of))))).toEqual(figures(before))
      expect((await ask(`${gateway.url}/v1/statements`, of.key.text)).body).toEqual(list.body)
      await query('delete from statement_sums')
      await query('delete from balances where account_id = $1', [of.accountId])
    },
  )

  test('a month begins and ends at midnight in UTC', async () => {
    const of = await customer()
    const [, month = '', next = ''] = months
    const topUp = (when: Date, amountMicros: number) =>
      move(of, { kind: 'top_up', wallet: 'payg', at: when, amountMicros })
    await topUp(at(months[0] ?? '', '30T23:59:59.999'), 1_000_000)
    await topUp(at(month, '01T00:00:00.000'), 20_000_000)
    await topUp(at(month, '31T23:59:59.999'), 300_000_000)
    await topUp(at(next, '01T00:00:00.000'), 4_000_000_000)
    // Held before midnight, ended after it.
    await runTask(of, {
      ...{ wallet: 'payg', model: 'vidB-2', heldAt: at(month, '31T23:59:59.500'), holdMicros: 500_000 },
      end: { at: at(next, '01T00:00:00.500'), capturedMicros: 400_000, seconds: 4 },
    })
    const statement = await read(month, of)
    expect(statement).toMatchObject({
      ...{ object: 'statement', month, state: 'closed' },
      from: Date.UTC(year - 1, 11) / 1000,
      to: Date.UTC(year) / 1000,
      as_of: Date.UTC(year) / 1000,
      issuer: { name: 'Fish & Sons <Ltd>', address: ['1 Harbour Road', 'Atlantis'], tax_number: 'XX 123' },
      account: { id: of.accountId, name: 'Aquarium' },
    })
    expect(walletOf(statement, 'payg')).toMatchObject({
      opening_balance_micros: 1_000_000,
      top_ups: { count: 2, amount_micros: 320_000_000 },
      charges: { count: 0, amount_micros: 0 },
      charges_by_model: [],
      closing_balance_micros: 321_000_000,
      held_micros: 500_000,
    })
    expect(walletOf(await read(next, of), 'payg')).toMatchObject({
      opening_balance_micros: 321_000_000,
      top_ups: { count: 1, amount_micros: 4_000_000_000 },
      charges: { count: 1, amount_micros: -400_000 },
      charges_by_model: [{ model: 'vidB-2', count: 1, amount_micros: 400_000 }],
      held_micros: 0,
    })
    const list = await ask(`${gateway.url}/v1/statements`, of.key.text)
    expect((list.body['data'] as StatementMonth[]).map((each) => each.month)).toEqual(months.toReversed())
  })

  test('the statement of a closed month is the same after a later refund and adjustment', async () => {
    const of = await customer()
    const [month = ''] = months
    await move(of, { kind: 'top_up', wallet: 'payg', at: at(month, '02T10:00:00'), amountMicros: 9_000_000 })
    const { id } = await runTask(of, {
      ...{ wallet: 'payg', model: 'vidB-2', heldAt: at(month, '03T10:00:00'), holdMicros: 700_000 },
      end: { at: at(month, '03T10:01:00'), capturedMicros: 700_000, seconds: 7 },
    })
    const pages = () =>
      Promise.all(['json', 'csv', 'html'].map(async (format) => (await textOf(month, of, format)).text))
    const before = await pages()
    await operator.call('createRefund', { id, body: { amount_micros: 300_000, reason: 'A bad video' } })
    await operator.call('createAdjustment', {
      ...{ id: of.accountId, body: { amount_micros: -1_000_000, reason: 'A mistake' } },
    })
    expect(await pages()).toEqual(before)
    const current = await read(new Date().toISOString().slice(0, 7), of)
    expect(current.state).toBe('open')
    expect(walletOf(current, 'payg')).toMatchObject({
      opening_balance_micros: 8_300_000,
      refunds: { count: 1, amount_micros: 300_000 },
      adjustments: { count: 1, amount_micros: -1_000_000 },
      closing_balance_micros: 7_600_000,
    })
  })

  test('a page shows hostile names as text, and runs nothing', async () => {
    const name = `</title><script>alert(1)</script>"'><img src=x onerror=alert(2)>\u202E`
    const of = await customer(name)
    const [month = ''] = months
    await move(of, { kind: 'top_up', wallet: 'payg', at: at(month, '02T10:00:00'), amountMicros: 9_000_000 })
    await runTask(of, {
      ...{
        wallet: 'payg',
        model: '<b onclick="x">m</b>',
        heldAt: at(month, '03T10:00:00'),
        holdMicros: 1_234,
      },
      end: { at: at(month, '03T10:01:00'), capturedMicros: 1_234, seconds: 7 },
    })
    const { headers, text } = await textOf(month, of, 'html')
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('cache-control')).toBe('private, no-store')
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:/,
    )
    expect(text).not.toMatch(/<script|<b |<img src=x|onerror=alert\(2\)>/)
    expect(text).toContain('&lt;/title&gt;&lt;script&gt;alert(1)')
    expect(text).toContain('<bdi>Fish &amp; Sons &lt;Ltd&gt;</bdi>')
    // The logo is only in an image, in which an SVG runs no scripts.
    expect(text).toContain(`<img src="data:image/svg+xml;base64,${Buffer.from(logo).toString('base64')}"`)
    expect(text.match(/<img/g)).toHaveLength(1)
    expect(text).toContain('0.001234')
    expect(text).not.toMatch(/https?:\/\//)
  })

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '=1,"2"\n3'])(
    'a table shows the name %j as text, and its amounts sum up',
    async (name) => {
      const of = await customer(name)
      const [month = ''] = months
      await move(of, {
        kind: 'top_up',
        wallet: 'payg',
        at: at(month, '02T10:00:00'),
        amountMicros: 9_000_000,
      })
      await runTask(of, {
        ...{ wallet: 'payg', model: name, heldAt: at(month, '03T10:00:00'), holdMicros: 1_234 },
        end: { at: at(month, '03T10:01:00'), capturedMicros: 1_000, seconds: 2.5 },
      })
      const { headers, text } = await textOf(month, of, 'csv')
      expect(headers.get('content-type')).toContain('text/csv')
      expect(headers.get('content-disposition')).toBe(`attachment; filename="statement-${month}.csv"`)
      const quoted = `'${name}`.replaceAll('"', '""')
      const shown = /[",\n]/.test(name) ? `"${quoted}"` : quoted
      const lines = text.trimEnd().split('\r\n')
      expect(lines[0]).toBe(
        'month,state,account_id,account_name,wallet,line,model,count,quantity,unit,unit_size,amount_micros,currency',
      )
      const start = `${month},closed,${of.accountId},${shown},payg,`
      expect(lines).toContain(`${start}charge,${shown},1,2.5,second,1,-1000,USD`)
      const amountOf = (line: string) =>
        sum(
          lines
            .filter((each) => each.startsWith(`${start}${line}`))
            .map((each) => Number(each.split(',').at(-2))),
        )
      const all = amountOf('') - amountOf('closing_balance') - amountOf('held')
      expect(all).toBe(amountOf('closing_balance'))
      expect(all).toBe(8_999_000)
    },
  )

  test('a month without movements has its balance, and is not listed', async () => {
    const of = await customer()
    const [first = '', second = ''] = months
    await move(of, { kind: 'grant', wallet: 'subscription', at: at(first, '02T10:00:00'), amountMicros: 5 })
    const { wallets } = await read(second, of)
    expect(wallets).toMatchObject([
      { wallet: 'subscription', opening_balance_micros: 5, closing_balance_micros: 5 },
    ])
    const { body } = await ask(`${gateway.url}/v1/statements`, of.key.text)
    expect(body).toEqual({
      object: 'list',
      data: [
        {
          ...{ object: 'statement_month', month: first, state: 'closed' },
          from: Date.UTC(year - 1, 10) / 1000,
          to: Date.UTC(year - 1, 11) / 1000,
        },
      ],
      next: null,
    })
    const empty = await customer()
    expect((await textOf(first, empty, 'html')).text).toContain('no balance and no movements')
  })

  test('an operator gets what the customer gets', async () => {
    const of = await customer()
    const [month = ''] = months
    await move(of, { kind: 'top_up', wallet: 'payg', at: at(month, '02T10:00:00'), amountMicros: 5 })
    const given = { id: of.accountId, path: { month } }
    expect(await operator.call('getAccountStatement', given)).toEqual(await read(month, of))
    const { body } = await ask(`${gateway.url}/v1/statements`, of.key.text)
    expect(await operator.call('listAccountStatements', given)).toEqual(body)
  })
})

describe('400', () => {
  test('invalid_parameter: another format', async () => {
    const { key } = await customer()
    expectProblem(await get(months[0] ?? '', key, '?format=pdf'), 'invalid_parameter', 'format')
  })
})

describe('403', () => {
  test('insufficient_scope: a key that may only create and read', async () => {
    const key = await createKey(gateway.database.postgres, await createAccount(gateway.database.postgres))
    expectProblem(await get(months[0] ?? '', key), 'insufficient_scope')
    expectProblem(await ask(`${gateway.url}/v1/statements`, key.text), 'insufficient_scope')
  })
})

describe('404', () => {
  test.each(['2026', '2026-13', '2026-1', '0000-00', '9999-12', '1999-12', `${months[0]}-01`, '%00'])(
    'resource_not_found: %s',
    async (month) => {
      const { key, accountId } = await customer()
      expectProblem(await get(month, key), 'resource_not_found')
      const answer = await operator.ask('getAccountStatement', { id: accountId, path: { month: 'x' } })
      expectProblem(answer, 'resource_not_found')
    },
  )

  test('resource_not_found: an account that does not exist', async () => {
    for (const id of [randomUUID(), 'me']) {
      const given = { id, path: { month: months[0] ?? '' } }
      expectProblem(await operator.ask('getAccountStatement', given), 'resource_not_found')
      expectProblem(await operator.ask('listAccountStatements', given), 'resource_not_found')
    }
  })

  test('resource_not_found: a month of which an archive has left no sums', async () => {
    const of = await customer()
    await query(
      `insert into ledger_archives (before, manifest_sha256, entries, available_micros, held_micros) values ($1, '', 0, 0, 0)`,
      [`${year}-01-01`],
    )
    expectProblem(await get(months[1] ?? '', of.key), 'resource_not_found')
    expect((await get(months[2] ?? '', of.key)).status).toBe(200)
    await query('delete from ledger_archives')
  })
})
