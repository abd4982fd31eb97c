/** `kinora quote`: what a video would cost. */
import { connect } from '../connection/connect.ts'
import { exitCodeOf } from '../frame/exit-code.ts'
import { formatMoney } from '../terminal/format.ts'
import { cleanText, print, printJson, tell } from '../terminal/print.ts'
import { prepareVideo, type VideoInput } from './prepare.ts'

export const quote = async (
  input: VideoInput & { prompt: string | undefined; json: boolean; profile: string | undefined },
): Promise<number> => {
  const { kinora } = await connect(input)
  const params = await prepareVideo(kinora, input.prompt ?? 'A video', input)
  const quoted = await kinora.videos.create({ ...params, dry_run: true })
  if (input.json) printJson(quoted)
  else {
    for (const { quantity, unit_size: size, unit, unit_micros, total_micros, currency } of quoted.lines) {
      const units = size === 1 ? quantity : `${quantity} / ${size}`
      tell(
        `${units} ${unit} × ${formatMoney(unit_micros, currency)} = ${formatMoney(total_micros, currency)}`,
      )
    }
    print(`${quoted.model ?? ''}  ${formatMoney(quoted.total_micros, quoted.currency)}`.trim())
  }
  if (quoted.refusal === null) return 0
  tell(cleanText(quoted.refusal.message))
  return exitCodeOf({ code: quoted.refusal.code, type: 'billing_error' })
}
