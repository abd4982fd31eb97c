/** The style of the page of a statement. On paper it is always dark on white. */
export const statementStyle = `
:root { color-scheme: light dark; --ink: #16181d; --soft: #5d6470; --paper: #f4f2ee; --sheet: #fff; --line: #e3dfd7;
  --rule: #16181d; --open: #9a6000 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f1efea; --soft: #a3a9b5; --paper: #121317; --sheet: #1a1c22; --line: #2b2e36; --rule: #8b909b;
    --open: #e0a030 }
}
* { box-sizing: border-box }
body { margin: 0; padding: 2.5rem 1rem; background: var(--paper); color: var(--ink);
  font: .9rem/1.5 system-ui, 'Segoe UI', 'Liberation Sans', sans-serif; overflow-wrap: anywhere }
main { max-width: 52rem; margin: 0 auto; padding: 3.5rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--sheet) }
header { display: flex; justify-content: space-between; align-items: flex-start; gap: 2rem; margin-bottom: 2.5rem }
header img { max-width: 15rem; max-height: 4rem; object-fit: contain; object-position: left top; border-radius: .25rem }
@media screen and (prefers-color-scheme: dark) { header img { padding: .5rem .75rem; background: #fff } }
.brand { margin: 0; font-size: 1.35rem; font-weight: 700; line-height: 1.25; letter-spacing: -.01em }
h1 { flex: none; margin: 0 0 0 auto; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.015em; text-align: right }
h1 small { display: block; color: var(--soft); font-size: .75rem; font-weight: 600; letter-spacing: .09em; text-transform: uppercase }
.parties { display: grid; grid-template-columns: repeat(3, auto); justify-content: space-between; gap: 1.5rem 2rem; margin-bottom: 2.75rem }
.parties p { margin: 0 }
h3 { margin: 0 0 .35rem; color: var(--soft); font-size: .72rem; font-weight: 600; letter-spacing: .09em; text-transform: uppercase }
h2 { margin: 0 0 .75rem; font-size: 1.1rem }
section + section { margin-top: 3rem }
.soft, small { color: var(--soft) }
small { font-size: .82em; font-weight: 400 }
.id { font: .7rem/1.4 ui-monospace, 'Liberation Mono', monospace }
.open { color: var(--open); font-weight: 600 }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums lining-nums }
.charges { margin-top: 2rem }
.amount { width: 10.5rem }
.count { width: 6.5rem }
caption { padding: 0 0 .5rem; font-weight: 600; text-align: left }
th, td { padding: .5rem .75rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th:first-child, td:first-child { padding-left: 0 }
th:last-child, td:last-child { padding-right: 0 }
th { font-weight: 400 }
thead th { padding-bottom: .4rem; border-bottom: 1px solid var(--rule); color: var(--soft); font-size: .78rem; vertical-align: bottom }
.number { text-align: right; white-space: nowrap; overflow-wrap: normal }
.balance th, .balance td, tfoot th, tfoot td { font-weight: 600 }
.balance small { margin-left: .5rem }
.closing th, .closing td { border-top: 1px solid var(--rule); border-bottom: 3px double var(--rule); font-size: 1.05rem }
.held th, .held td { border: 0; padding-top: .4rem; color: var(--soft); font-size: .84rem }
tbody tr:last-child > * { border-bottom-color: var(--rule) }
tfoot th, tfoot td { border-bottom: 0 }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .78rem }
footer p { margin: 0 }
@media (max-width: 40rem) { main { padding: 1.5rem } header { flex-direction: column; gap: 1rem } h1 { margin: 0; text-align: left }
  .parties { grid-template-columns: auto; justify-content: start }
  th, td { padding-inline: .35rem } .number { white-space: normal } .amount, .count { width: auto } }
@page { size: A4; margin: 18mm 17mm 20mm; @bottom-right { content: counter(page) ' / ' counter(pages); font: 8pt sans-serif; color: #5d6470 } }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #4a505b; --paper: #fff; --sheet: #fff; --line: #d5d1c9; --rule: #000; --open: #7a4c00 }
  body { padding: 0; font-size: 9.5pt; print-color-adjust: exact }
  main { max-width: none; padding: 0; border: 0 }
  h2, caption { break-after: avoid }
  thead { display: table-header-group }
  tfoot { display: table-row-group }
  tr, .summary, footer, .parties { break-inside: avoid }
  tfoot tr { break-before: avoid }
  tbody tr:last-child { break-after: avoid }
  th, td { padding-block: .32rem }
  header { margin-bottom: 1.75rem }
  .parties { margin-bottom: 2rem }
  .charges { margin-top: 1.5rem }
  section + section { margin-top: 2.25rem }
}
`
