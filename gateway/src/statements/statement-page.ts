/** A statement as an HTML page for reading and printing: no scripts, no other origins. Names may contain anything. */
import { createHash } from 'node:crypto'

import type { Statement, StatementCharge, StatementWallet } from '@kinora/contract/operations/statements'

import { countDecimals, formatTableAmount, formatTableQuantity } from '../billing/money/money.ts'
import { escapeHtml } from '../platform/text/escape-html.ts'
import { statementStyle } from './statement-style.ts'

const styleHash = createHash('sha256').update(statementStyle).digest('base64')

const policy = [
  `default-src 'none'`,
  `style-src 'sha256-${styleHash}'`,
  'img-src data:',
  `base-uri 'none'`,
  `form-action 'none'`,
].join('; ')

export const statementPageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `${policy}; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
}

/** A name may have characters that change the direction of the text around it. */
const name = (text: string) => `<bdi>${escapeHtml(text)}</bdi>`

const inEnglish = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options })
  return (seconds: number) => format.format(seconds * 1000)
}
const monthText = inEnglish({ month: 'long', year: 'numeric' })
const dayText = inEnglish({ day: 'numeric', month: 'long', year: 'numeric' })
const days = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'long' })
const timeText = inEnglish({ dateStyle: 'medium', timeStyle: 'short' })
const minuteText = (seconds: number) => `${timeText(seconds)} UTC`

const units: Partial<Record<string, [one: string, many: string]>> = {
  second: ['second', 'seconds'],
  call: ['video', 'videos'],
  image: ['image', 'images'],
  minute: ['second of audio', 'seconds of audio'],
  million_characters: ['character', 'characters'],
  million_text_input_tokens: ['text input token', 'text input tokens'],
  million_audio_input_tokens: ['audio input token', 'audio input tokens'],
  million_text_output_tokens: ['text output token', 'text output tokens'],
  million_audio_output_tokens: ['audio output token', 'audio output tokens'],
}

const quantityText = ({ unit, quantity }: StatementCharge['quantities'][number]): string => {
  const [one, many] = units[unit] ?? [unit, unit]
  return `${formatTableQuantity(quantity)} ${escapeHtml(quantity === '1' ? one : many)}`
}

type AmountText = (micros: number) => string

const amountsOf = (wallet: StatementWallet) => [
  ...[wallet.opening_balance_micros, wallet.closing_balance_micros, wallet.held_micros],
  ...[wallet.top_ups, wallet.grants, wallet.refunds].map((each) => each.amount_micros),
  ...[wallet.adjustments, wallet.expiries, wallet.charges].map((each) => each.amount_micros),
  ...wallet.charges_by_model.map((each) => each.amount_micros),
]

const countText = (count: number) => formatTableQuantity(String(count))

const summaryRows = (wallet: StatementWallet): [title: string, movements: StatementWallet['top_ups']][] => {
  const isSubscription = wallet.wallet === 'subscription'
  const ifMade = (title: string, movements: StatementWallet['top_ups'], isUsual: boolean) =>
    isUsual || movements.count > 0 ? [[title, movements] satisfies [string, StatementWallet['top_ups']]] : []
  return [
    ...ifMade('Top-ups', wallet.top_ups, !isSubscription),
    ...ifMade('Quota of the subscription', wallet.grants, isSubscription),
    ['Charges', wallet.charges],
    ['Refunds', wallet.refunds],
    ['Adjustments', wallet.adjustments],
    ...ifMade('Unused quota, expired', wallet.expiries, isSubscription),
  ]
}

const summary = (wallet: StatementWallet, { from, as_of: asOf, state }: Statement, amount: AmountText) => {
  const rows = summaryRows(wallet).map(
    ([title, { count, amount_micros: micros }]) =>
      `<tr><th scope="row">${title}</th><td class="number soft">${countText(count)}</td><td class="number">${amount(micros)}</td></tr>`,
  )
  const closing = state === 'open' ? 'Balance' : 'Closing balance'
  // A closed month ends with its last day, not with the first moment of the next one.
  const closingDay = state === 'open' ? minuteText(asOf) : dayText(asOf - 1)
  const held =
    wallet.held_micros === 0
      ? ''
      : `<tr class="held"><th scope="row" colspan="2">of which held for tasks and requests that had not ended</th><td class="number">${amount(wallet.held_micros)}</td></tr>`
  return `<table class="summary">
<thead><tr><th scope="col">Movements</th><th scope="col" class="number count">Number</th><th scope="col" class="number amount">Amount in ${escapeHtml(wallet.currency)}</th></tr></thead>
<tbody>
<tr class="balance"><th scope="row" colspan="2">Opening balance <small>${dayText(from)}</small></th><td class="number">${amount(wallet.opening_balance_micros)}</td></tr>
${rows.join('\n')}
<tr class="balance closing"><th scope="row" colspan="2">${closing} <small>${closingDay}</small></th><td class="number">${amount(wallet.closing_balance_micros)}</td></tr>
${held}
</tbody>
</table>`
}

const chargeRow = (
  { model, count, quantities, amount_micros: micros }: StatementCharge,
  amount: AmountText,
) =>
  `<tr><th scope="row">${model === null ? 'Other' : name(model)}</th><td class="number">${countText(count)}</td><td class="number">${quantities.map(quantityText).join('<br>')}</td><td class="number">${amount(micros)}</td></tr>`

const charges = ({ charges_by_model: models, charges: all, currency }: StatementWallet, amount: AmountText) =>
  models.length === 0
    ? ''
    : `<table class="charges">
<caption>Charges by model</caption>
<thead><tr><th scope="col">Model</th><th scope="col" class="number">Number</th><th scope="col" class="number">Quantity</th><th scope="col" class="number amount">Amount in ${escapeHtml(currency)}</th></tr></thead>
<tbody>
${models.map((charge) => chargeRow(charge, amount)).join('\n')}
</tbody>
<tfoot><tr><th scope="row">Total</th><td class="number">${countText(all.count)}</td><td></td><td class="number">${amount(0 - all.amount_micros)}</td></tr></tfoot>
</table>`

const walletNames: Partial<Record<string, string>> = {
  payg: 'Pay-as-you-go',
  subscription: 'Subscription',
}

const walletSection = (wallet: StatementWallet, statement: Statement, amount: AmountText) => `<section>
<h2>${walletNames[wallet.wallet] ?? escapeHtml(wallet.wallet)}</h2>
${summary(wallet, statement, amount)}
${charges(wallet, amount)}
</section>`

const issuerBlock = ({ name: issuer, address, tax_number: taxNumber }: Statement['issuer']) =>
  issuer === null && address.length === 0 && taxNumber === null
    ? ''
    : `<div><h3>From</h3><p>${[
        ...(issuer === null ? [] : [`<strong>${name(issuer)}</strong>`]),
        ...address.map(name),
        ...(taxNumber === null ? [] : [`<span class="soft">Tax number</span> ${name(taxNumber)}`]),
      ].join('<br>')}</p></div>`

const stateText = ({ state, as_of: asOf }: Statement) =>
  state === 'closed'
    ? 'Closed, figures are final'
    : `<span class="open">Open</span><br><span class="soft">as of ${minuteText(asOf)}</span>`

const brand = ({ name: issuer }: Statement['issuer'], logo: string | undefined) => {
  if (logo !== undefined) return `<img src="${escapeHtml(logo)}" alt="${escapeHtml(issuer ?? 'Logo')}">`
  return issuer === null ? '' : `<p class="brand">${name(issuer)}</p>`
}

export const formatStatementPage = (statement: Statement, logo: string | undefined): string => {
  const { issuer, account, wallets, from, to, month } = statement
  const [{ currency } = { currency: 'USD' }] = wallets
  const decimals = countDecimals(wallets.flatMap(amountsOf), currency)
  const amount: AmountText = (micros) => formatTableAmount(micros, currency, decimals)
  const sections = wallets.map((wallet) => walletSection(wallet, statement, amount))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="content-security-policy" content="${escapeHtml(policy)}">
<title>Statement ${month} ${escapeHtml(account.name)}</title>
<style>${statementStyle}</style>
</head>
<body>
<main>
<header>
${brand(issuer, logo)}
<h1><small>Statement</small>${monthText(from)}</h1>
</header>
<div class="parties">
${issuerBlock(issuer)}
<div><h3>For</h3><p>${account.name === '' ? '' : `<strong>${name(account.name)}</strong><br>`}<span class="soft">Account</span><br><span class="id">${escapeHtml(account.id)}</span></p></div>
<div><h3>Period</h3><p>${days.formatRange(from * 1000, (to - 1) * 1000)}, UTC<br>${stateText(statement)}</p></div>
</div>
${sections.length === 0 ? '<p>The account had no balance and no movements in this month.</p>' : sections.join('\n')}
<footer>
<p>Each opening balance plus the movements below it is the closing balance. A later refund or adjustment is in the statement of the month in which it is made. This statement is not an invoice.</p>
</footer>
</main>
</body>
</html>
`
}
