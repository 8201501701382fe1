-- What waits for a person is asked for across all flows of a domain (function human-task).
create index instance_human on instance (domain, created_at desc, id desc)
  where effective_state_sub_type = 6 and status in ('A', 'B');
