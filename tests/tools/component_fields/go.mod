module kubephase.invalid/component_fields

go 1.21
