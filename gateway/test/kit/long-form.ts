/** Whether tests run at full length, as by `npm run prove:journeys`. */
export const isLongForm = process.env['PROVE_JOURNEYS'] === 'full'
