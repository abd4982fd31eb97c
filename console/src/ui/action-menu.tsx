/** A button that opens a menu of actions. */
import { Ellipsis } from 'lucide-react'
import type { ReactNode } from 'react'
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'

import { Button } from './button.tsx'

import styles from './action-menu.module.css'

export interface MenuAction {
  id: string
  label: string
  icon?: ReactNode
  isDangerous?: boolean
  onAction: () => void
}

export const ActionMenu = ({ label, actions }: { label: string; actions: MenuAction[] }) => (
  <MenuTrigger>
    <Button isIcon icon={<Ellipsis />} label={label} />
    <Popover className={styles['menu'] ?? ''} placement="bottom end">
      <Menu className={styles['list'] ?? ''} aria-label={label}>
        {actions.map(({ id, label: name, icon, isDangerous, onAction }) => (
          <MenuItem
            key={id}
            id={id}
            textValue={name}
            className={styles['item'] ?? ''}
            onAction={onAction}
            {...(isDangerous === true && { 'data-dangerous': true })}
          >
            {icon}
            {name}
          </MenuItem>
        ))}
      </Menu>
    </Popover>
  </MenuTrigger>
)
