/** All models, with the price of this run, in a window. */
import { Check, X } from 'lucide-react'
import { useState } from 'react'
import { Dialog } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'

import { commonTexts } from '../../../i18n/common.ts'
import { formatMoney } from '../../../i18n/format.ts'
import { useTexts } from '../../../i18n/texts.ts'
import { Button } from '../../../ui/button.tsx'
import { TextField } from '../../../ui/field.tsx'
import { Tag } from '../../../ui/status.tsx'
import {
  estimatePrice,
  findSize,
  formatSize,
  lowestPrice,
  makesSeconds,
  type Costing,
  type Offer,
} from '../offers.ts'
import { videoTexts } from '../texts.ts'

import styles from './model-table.module.css'

interface ModelTableProps {
  offers: Offer[]
  chosen: string
  costing: Costing
  onChoose: (offer: Offer) => void
  onClose: () => void
}

export const ModelTable = ({ offers, chosen, costing, onChoose, onClose }: ModelTableProps) => {
  const texts = useTexts(videoTexts)
  const common = useTexts(commonTexts)
  const [search, setSearch] = useState('')
  const shown = offers.filter(({ model }) =>
    [model.id, ...model.aliases, model.description ?? ''].some((text) =>
      text.toLowerCase().includes(search.trim().toLowerCase()),
    ),
  )
  const choice = `${texts.secondsText(costing.seconds)}, ${formatSize(costing)}`
  return (
    <ModalOverlay
      className={styles['scrim'] ?? ''}
      isOpen
      isDismissable
      onOpenChange={(open) => !open && onClose()}
    >
      <Modal className={styles['window'] ?? ''}>
        <Dialog className={styles['dialog'] ?? ''}>
          <header className={styles['header']}>
            <Heading slot="title" level={2}>
              {texts.table.title}
            </Heading>
            <span className="muted small-text grow wide-only">{texts.table.note(choice)}</span>
            <div className={styles['search']}>
              <TextField
                label={texts.table.search}
                placeholder={texts.table.search}
                isHiddenLabel
                autoFocus
                value={search}
                onChange={setSearch}
              />
            </div>
            <Button variant="ghost" isIcon icon={<X />} label={common.close} onPress={onClose} />
          </header>
          <div className={styles['scroll']}>
            <table className={styles['table']}>
              <thead>
                <tr>
                  <th scope="col">{texts.table.name}</th>
                  <th scope="col" className="number">
                    {texts.table.unit}
                  </th>
                  <th scope="col" className="number">
                    {texts.table.run}
                  </th>
                  <th scope="col">{texts.table.length}</th>
                  <th scope="col">{texts.table.sizes}</th>
                  <th scope="col">{texts.table.sound}</th>
                  <th scope="col">{texts.table.state}</th>
                </tr>
              </thead>
              <tbody>
                {shown.map((offer) => {
                  const { model } = offer
                  const price = lowestPrice(model)
                  const fits = makesSeconds(offer, costing.seconds)
                  const seconds = fits ? costing.seconds : (offer.seconds?.[0] ?? offer.maxSeconds)
                  const length = texts.secondsRange(String(offer.minSeconds), String(offer.maxSeconds))
                  return (
                    <tr
                      key={model.id}
                      data-selected={model.id === chosen || undefined}
                      onClick={() => onChoose(offer)}
                    >
                      <th scope="row">
                        <button type="button" aria-label={texts.table.use(model.id)}>
                          {model.id}
                        </button>
                        {model.id === chosen && <Check aria-label={texts.table.chosen} />}
                      </th>
                      <td className="number muted">
                        {price !== undefined && (
                          <>
                            {formatMoney(price.unit_micros, price.currency)}
                            {texts.perUnit(price.unit)}
                          </>
                        )}
                      </td>
                      <td className="number strong">
                        {price !== undefined &&
                          formatMoney(estimatePrice(model, { ...costing, seconds }), price.currency)}
                      </td>
                      <td>{fits ? length : <Tag color="amber">{length}</Tag>}</td>
                      <td className={findSize(offer, costing) === undefined ? 'fair' : ''}>
                        {offer.sizes.map(formatSize).join(', ')}
                      </td>
                      <td>
                        {texts.soundOf[offer.sound]}
                        {offer.minImages > costing.images && (
                          <span className="fair small-text"> {texts.needsImage}</span>
                        )}
                      </td>
                      <td>
                        {model.state === 'deprecated' ? (
                          <Tag color="amber">{texts.deprecated(model.shutdown_date)}</Tag>
                        ) : (
                          texts.table.active
                        )}
                      </td>
                    </tr>
                  )
                })}
              </tbody>
            </table>
            {shown.length === 0 && <p className={styles['none']}>{texts.table.none}</p>}
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
