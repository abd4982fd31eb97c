/** What an order costs. The inputs are kept on the task, so a later change of prices does not touch it. */
export interface Price {
  unit: 'second'
  unitMicros: number
  quantity: number
  totalMicros: number
}

export const priceOfVideo = (pricePerSecondMicros: number, seconds: number): Price => ({
  unit: 'second',
  unitMicros: pricePerSecondMicros,
  quantity: seconds,
  totalMicros: pricePerSecondMicros * seconds,
})
